#define _GNU_SOURCE
#include "pw_vm.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pw_memory.h"
#include "pw_wasmtime.h"

enum { WASM_PAGE_BYTES = 65536, RAW_ARGUMENTS_MAX = 5, HOST_CALLS_NESTED_MAX = 64, START_FUEL = 1000000 };
enum { WASI_BADF = 8, WASI_NOSYS = 52 };

/* ---- errors of ours, and the library ---- */

pw_wasmtime_api pw_api;
static _Thread_local char last_error[512];

void pw_fail(const char *what, const char *why)
{
    snprintf(last_error, sizeof last_error, "%s: %s", what, why);
}

const char *pw_error(void)
{
    return last_error;
}

bool pw_take_error(wasmtime_error_t *error, const char *what)
{
    if (!error)
        return false;
    wasm_byte_vec_t message;
    pw_api.wasmtime_error_message(error, &message);
    snprintf(last_error, sizeof last_error, "%s: %.*s", what, (int)message.size, message.data);
    pw_api.wasm_byte_vec_delete(&message);
    pw_api.wasmtime_error_delete(error);
    return true;
}

int pw_open(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        pw_fail("wasmtime", dlerror());
        return -1;
    }
#define X(result, name, params)                                                                                       \
    *(void **)&pw_api.name = dlsym(library, #name);                                                                   \
    if (!pw_api.name) {                                                                                               \
        pw_fail(path, "it has no " #name);                                                                            \
        return -1;                                                                                                    \
    }
    PW_WASMTIME_FUNCTIONS(X)
#undef X
    return pw_memory_open();
}

const size_t *pw_layouts(size_t *count)
{
    static const size_t sizes[] = {
        sizeof(wasmtime_func_t),          sizeof(wasmtime_memory_t), sizeof(wasmtime_global_t),
        sizeof(wasmtime_extern_t),        sizeof(wasmtime_val_t),    sizeof(wasmtime_val_raw_t),
        sizeof(wasmtime_instance_t),      sizeof(wasmtime_linear_memory_t),
        sizeof(wasmtime_memory_creator_t)};
    *count = sizeof sizes / sizeof *sizes;
    return sizes;
}

void pw_config_use_own_memory(void *wasm_config)
{
    pw_memory_creator_install(wasm_config);
}

size_t pw_thread_stack_bytes_left(void)
{
    static _Thread_local uintptr_t lowest;
    if (!lowest) {
        pthread_attr_t attributes;
        void *start;
        size_t size;
        if (pthread_getattr_np(pthread_self(), &attributes) != 0)
            return SIZE_MAX;
        pthread_attr_getstack(&attributes, &start, &size);
        pthread_attr_destroy(&attributes);
        lowest = (uintptr_t)start;
    }
    return (uintptr_t)__builtin_frame_address(0) - lowest;
}

/* ---- the VM ---- */

#define EXPORTS(X)                                                                                                    \
    X(qjs_call)                                                                                                       \
    X(qjs_eval)                                                                                                       \
    X(qjs_execute_pending_job)                                                                                        \
    X(qjs_free_cstring)                                                                                               \
    X(qjs_free_value)                                                                                                 \
    X(qjs_get_exception)                                                                                              \
    X(qjs_get_string_len)                                                                                             \
    X(qjs_get_undefined)                                                                                              \
    X(qjs_is_exception)                                                                                               \
    X(qjs_is_job_pending)                                                                                             \
    X(qjs_is_string)                                                                                                  \
    X(qjs_new_string)                                                                                                 \
    X(qjs_run_gc)                                                                                                     \
    X(wasm_free)                                                                                                      \
    X(wasm_malloc)

enum export_number {
#define X(name) EXPORT_##name,
    EXPORTS(X)
#undef X
        EXPORTS_COUNT
};
static const char *const EXPORT_NAMES[] = {
#define X(name) #name,
    EXPORTS(X)
#undef X
};

struct pw_vm {
    wasmtime_store_t *store;
    wasmtime_context_t *context;
    wasmtime_func_t functions[EXPORTS_COUNT];
    wasmtime_memory_t memory_export;
    wasmtime_global_t stack_pointer;
    pw_memory *memory;
    const pw_job *job; /* NULL between jobs */
    int stopped;       /* PW_OK, or what the instance stopped as: no call is made after that */
    int trap_code;
    int host_calls_nested;
    atomic_int interrupted;
    char *text; /* of the answer or the error */
    size_t text_room;
    char *pages; /* of the kept heap */
    size_t pages_room;
};

/* A guest text, borrowed from the guest until qjs_free_cstring. */
typedef struct {
    uint32_t ptr, len;
} guest_text;

static void stop(pw_vm *vm, int status)
{
    if (vm->stopped == PW_OK)
        vm->stopped = status;
}

/* The bytes at a guest address; NULL, with the VM stopped, when they do not lie in its memory. */
static uint8_t *at(pw_vm *vm, uint32_t ptr, size_t len)
{
    if (ptr <= vm->memory->size_bytes && len <= vm->memory->size_bytes - ptr)
        return vm->memory->start + ptr;
    stop(vm, PW_TRAP);
    return NULL;
}

/* Call an export; 0 when the VM is stopped or the call stops it, so the caller looks at vm->stopped. */
static uint32_t call(pw_vm *vm, enum export_number which, const uint32_t *arguments, size_t count)
{
    if (vm->stopped != PW_OK)
        return 0;
    wasmtime_val_raw_t raw[RAW_ARGUMENTS_MAX];
    wasm_trap_t *trap = NULL;
    for (size_t i = 0; i < count; i++)
        raw[i].i32 = (int32_t)arguments[i];
    wasmtime_error_t *error =
        pw_api.wasmtime_func_call_unchecked(vm->context, &vm->functions[which], raw, RAW_ARGUMENTS_MAX, &trap);
    if (pw_take_error(error, EXPORT_NAMES[which])) {
        stop(vm, PW_FAILED);
        return 0;
    }
    if (trap) {
        uint8_t code = 0;
        bool known = pw_api.wasmtime_trap_code(trap, &code);
        pw_api.wasm_trap_delete(trap);
        if (vm->stopped == PW_OK)
            vm->trap_code = known ? code : -1;
        stop(vm, known && code == PW_TRAP_CODE_OUT_OF_FUEL ? PW_FUEL : PW_TRAP);
        return 0;
    }
    return (uint32_t)raw[0].i32;
}

#define CALL(vm, name, ...)                                                                                           \
    call(vm, EXPORT_##name, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
#define CALL0(vm, name) call(vm, EXPORT_##name, NULL, 0)

/* A handle of a new string. */
static uint32_t new_text(pw_vm *vm, const char *text, size_t len)
{
    uint32_t ptr = CALL(vm, wasm_malloc, (uint32_t)len + 1);
    if (ptr == 0) {
        stop(vm, PW_MEMORY);
        return 0;
    }
    uint8_t *there = at(vm, ptr, len + 1);
    if (!there)
        return 0;
    memcpy(there, text, len);
    there[len] = 0;
    uint32_t value = CALL(vm, qjs_new_string, ptr, (uint32_t)len);
    CALL(vm, wasm_free, ptr);
    return value;
}

/* A value as text; false when the conversion threw (the error is pending) or the VM stopped. */
static bool borrow_text(pw_vm *vm, uint32_t value, guest_text *text)
{
    uint32_t scratch = vm->job->scratch_ptr;
    text->ptr = CALL(vm, qjs_get_string_len, value, scratch);
    uint8_t *there = at(vm, scratch, sizeof text->len);
    if (text->ptr == 0 || !there)
        return false;
    memcpy(&text->len, there, sizeof text->len);
    return at(vm, text->ptr, text->len) != NULL;
}

static bool room_for(char **buffer, size_t *room, size_t len)
{
    if (len <= *room)
        return true;
    char *larger = realloc(*buffer, len * 2);
    if (!larger) {
        pw_fail("a job's result", "out of memory");
        return false;
    }
    *buffer = larger;
    *room = len * 2;
    return true;
}

static void keep_text(pw_vm *vm, const void *text, size_t len, pw_result *result)
{
    if (!room_for(&vm->text, &vm->text_room, len + 1)) {
        stop(vm, PW_FAILED);
        return;
    }
    memcpy(vm->text, text, len);
    result->text = vm->text;
    result->text_len = len;
    result->has_text = 1;
}

/* Keep a value's text as the result's; false when the conversion threw. */
static bool keep_value(pw_vm *vm, uint32_t value, pw_result *result)
{
    guest_text text;
    if (!borrow_text(vm, value, &text))
        return false;
    keep_text(vm, at(vm, text.ptr, text.len), text.len, result);
    CALL(vm, qjs_free_cstring, text.ptr);
    return true;
}

/* Keep the pending exception's text; it is pending no more. */
static void take_exception(pw_vm *vm, pw_result *result)
{
    static const char unspeakable[] = "an error that cannot be turned into text";
    uint32_t error = CALL0(vm, qjs_get_exception);
    if (!keep_value(vm, error, result) && vm->stopped == PW_OK) {
        CALL(vm, qjs_free_value, CALL0(vm, qjs_get_exception));
        keep_text(vm, unspeakable, sizeof unspeakable - 1, result);
    }
    CALL(vm, qjs_free_value, error);
}

/* ---- imports ---- */

/* Leave an error pending in the guest; the 0 that comes back tells its trampoline so. */
static uint32_t throw_in_guest(pw_vm *vm, const pw_answer *answer)
{
    const pw_job *job = vm->job;
    uint32_t arguments[2];
    arguments[0] = new_text(vm, answer->name, answer->name_len);
    arguments[1] = new_text(vm, answer->text, answer->text_len);
    uint8_t *there = at(vm, job->scratch_ptr, sizeof arguments);
    if (vm->stopped != PW_OK || !there)
        return 0;
    memcpy(there, arguments, sizeof arguments);
    uint32_t value = CALL(vm, qjs_call, job->raise_ptr, job->undefined_ptr, 2, job->scratch_ptr);
    CALL(vm, qjs_free_value, arguments[0]);
    CALL(vm, qjs_free_value, arguments[1]);
    CALL(vm, qjs_free_value, value);
    return 0;
}

static uint32_t throw_message(pw_vm *vm, const char *name, const char *message)
{
    pw_answer answer = {message, strlen(message), name, strlen(name)};
    return throw_in_guest(vm, &answer);
}

static uint32_t host(pw_vm *vm, guest_text op, guest_text text)
{
    pw_answer answer = {0};
    int how = pw_host(vm->job->host, (const char *)at(vm, op.ptr, op.len), op.len,
                      (const char *)at(vm, text.ptr, text.len), text.len, &answer);
    if (how == PW_ANSWER_RAISED)
        stop(vm, PW_HOST_RAISED);
    CALL(vm, qjs_free_cstring, text.ptr);
    CALL(vm, qjs_free_cstring, op.ptr);
    switch (how) {
    case PW_ANSWER_TEXT:
        return new_text(vm, answer.text, answer.text_len);
    case PW_ANSWER_UNDEFINED:
        return CALL0(vm, qjs_get_undefined);
    case PW_ANSWER_THROW:
        return throw_in_guest(vm, &answer);
    default:
        return 0;
    }
}

/* Evaluate a script in the global scope; an exception stays pending. */
static uint32_t compile(pw_vm *vm, guest_text source, guest_text filename)
{
    uint32_t value = CALL(vm, qjs_eval, source.ptr, source.len, filename.ptr, 0);
    CALL(vm, qjs_free_cstring, filename.ptr);
    CALL(vm, qjs_free_cstring, source.ptr);
    if (CALL(vm, qjs_is_exception, value)) {
        CALL(vm, qjs_free_value, value);
        return 0;
    }
    return value;
}

static uint32_t host_call(pw_vm *vm, const wasmtime_val_raw_t *raw)
{
    static const char host_name[] = "host";
    uint32_t name_len = (uint32_t)raw[1].i32, values[2];
    if (!vm->job) {
        stop(vm, PW_TRAP);
        return 0;
    }
    if (raw[3].i32 != 2)
        return throw_message(vm, "TypeError", "a host function takes two texts");
    const uint8_t *name = at(vm, (uint32_t)raw[0].i32, name_len);
    const uint8_t *there = at(vm, (uint32_t)raw[4].i32, sizeof values);
    if (!name || !there)
        return 0;
    bool is_host = name_len == sizeof host_name - 1 && memcmp(name, host_name, name_len) == 0;
    memcpy(values, there, sizeof values);
    if (vm->host_calls_nested == HOST_CALLS_NESTED_MAX)
        return throw_message(vm, "RangeError", "Maximum call stack size exceeded");
    guest_text first, second;
    if (!borrow_text(vm, values[0], &first) || !borrow_text(vm, values[1], &second))
        return 0;
    vm->host_calls_nested++;
    uint32_t value = is_host ? host(vm, first, second) : compile(vm, first, second);
    vm->host_calls_nested--;
    return value;
}

static uint32_t host_interrupt(pw_vm *vm, const wasmtime_val_raw_t *raw)
{
    (void)raw;
    if (atomic_load_explicit(&vm->interrupted, memory_order_relaxed))
        stop(vm, PW_INTERRUPTED);
    return 0;
}

static uint32_t host_promise_rejection(pw_vm *vm, const wasmtime_val_raw_t *raw)
{
    CALL(vm, qjs_free_value, (uint32_t)raw[0].i32);
    CALL(vm, qjs_free_value, (uint32_t)raw[1].i32);
    return 0;
}

static uint32_t zero(pw_vm *vm, const wasmtime_val_raw_t *raw)
{
    (void)vm, (void)raw;
    return 0;
}

static uint32_t clock_time_get(pw_vm *vm, const wasmtime_val_raw_t *raw)
{
    uint64_t now_ns = vm->job ? vm->job->clock_ns : 0;
    uint8_t *there = at(vm, (uint32_t)raw[2].i32, sizeof now_ns);
    if (there)
        memcpy(there, &now_ns, sizeof now_ns);
    return 0;
}

static uint32_t random_get(pw_vm *vm, const wasmtime_val_raw_t *raw)
{
    uint8_t *there = at(vm, (uint32_t)raw[0].i32, (uint32_t)raw[1].i32);
    if (there)
        memset(there, 0, (uint32_t)raw[1].i32);
    return 0;
}

static uint32_t bad_descriptor(pw_vm *vm, const wasmtime_val_raw_t *raw)
{
    (void)vm, (void)raw;
    return WASI_BADF;
}

static uint32_t no_such_call(pw_vm *vm, const wasmtime_val_raw_t *raw)
{
    (void)vm, (void)raw;
    return WASI_NOSYS;
}

/* Parameters as letters, i: i32, I: i64; a result is always i32, where there is one. */
typedef struct {
    const char *module, *name, *params;
    bool has_result;
    uint32_t (*run)(pw_vm *vm, const wasmtime_val_raw_t *raw);
} import;

static const import IMPORTS[] = {
    {"env", "host_call", "iiiii", true, host_call},
    {"env", "host_interrupt", "", true, host_interrupt},
    {"env", "host_promise_rejection", "iii", false, host_promise_rejection},
    {"env", "host_module_normalize", "ii", true, zero},
    {"env", "host_module_load", "ii", true, zero},
    {"env", "host_get_timezone_offset", "ii", true, zero},
    {"wasi_snapshot_preview1", "clock_time_get", "iIi", true, clock_time_get},
    {"wasi_snapshot_preview1", "random_get", "ii", true, random_get},
    {"wasi_snapshot_preview1", "fd_write", "iiii", true, bad_descriptor},
    {"wasi_snapshot_preview1", "fd_fdstat_get", "ii", true, bad_descriptor},
    {"wasi_snapshot_preview1", "fd_close", "i", true, no_such_call},
    {"wasi_snapshot_preview1", "fd_seek", "iIii", true, no_such_call},
};

static wasm_trap_t *run_import(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *raw, size_t count)
{
    (void)count;
    const import *wanted = env;
    pw_vm *vm = pw_api.wasmtime_context_get_data(pw_api.wasmtime_caller_context(caller));
    uint32_t result = wanted->run(vm, raw);
    if (vm->stopped != PW_OK)
        return pw_api.wasmtime_trap_new_code(PW_TRAP_CODE_INTERRUPT);
    if (wanted->has_result)
        raw[0].i32 = (int32_t)result;
    return NULL;
}

/* ---- engine and instances ---- */

struct pw_engine {
    wasm_engine_t *engine;
    wasmtime_instance_pre_t *ready;
    int64_t memory_bytes_max;
};

static bool define(wasmtime_linker_t *linker, const import *wanted)
{
    wasm_valtype_t *kinds[RAW_ARGUMENTS_MAX];
    size_t count = strlen(wanted->params);
    for (size_t i = 0; i < count; i++)
        kinds[i] = pw_api.wasm_valtype_new(wanted->params[i] == 'I' ? PW_KIND_I64 : PW_KIND_I32);
    wasm_valtype_vec_t params, results;
    pw_api.wasm_valtype_vec_new(&params, count, kinds);
    if (wanted->has_result)
        kinds[0] = pw_api.wasm_valtype_new(PW_KIND_I32);
    pw_api.wasm_valtype_vec_new(&results, wanted->has_result, kinds);
    wasm_functype_t *type = pw_api.wasm_functype_new(&params, &results);
    wasmtime_error_t *error = pw_api.wasmtime_linker_define_func_unchecked(
        linker, wanted->module, strlen(wanted->module), wanted->name, strlen(wanted->name), type, run_import,
        (void *)(uintptr_t)wanted, NULL);
    pw_api.wasm_functype_delete(type);
    return !pw_take_error(error, wanted->name);
}

pw_engine *pw_engine_new(void *wasm_engine, void *wasmtime_module, int64_t memory_bytes_max)
{
    pw_engine *engine = calloc(1, sizeof *engine);
    wasmtime_linker_t *linker = pw_api.wasmtime_linker_new(wasm_engine);
    bool good = engine != NULL;
    for (size_t i = 0; good && i < sizeof IMPORTS / sizeof *IMPORTS; i++)
        good = define(linker, &IMPORTS[i]);
    if (good) {
        engine->engine = wasm_engine;
        engine->memory_bytes_max = memory_bytes_max;
        good = !pw_take_error(pw_api.wasmtime_linker_instantiate_pre(linker, wasmtime_module, &engine->ready),
                              "the engine's imports");
    }
    pw_api.wasmtime_linker_delete(linker);
    if (good)
        return engine;
    free(engine);
    return NULL;
}

void pw_engine_delete(pw_engine *engine)
{
    if (!engine)
        return;
    pw_api.wasmtime_instance_pre_delete(engine->ready);
    free(engine);
}

static bool find_export(pw_vm *vm, const wasmtime_instance_t *instance, const char *name, uint8_t kind,
                        wasmtime_extern_t *found)
{
    if (pw_api.wasmtime_instance_export_get(vm->context, instance, name, strlen(name), found) && found->kind == kind)
        return true;
    pw_fail("the engine has no export", name);
    return false;
}

static bool find_exports(pw_vm *vm, const wasmtime_instance_t *instance)
{
    wasmtime_extern_t found;
    for (size_t i = 0; i < EXPORTS_COUNT; i++) {
        if (!find_export(vm, instance, EXPORT_NAMES[i], PW_EXTERN_FUNC, &found))
            return false;
        vm->functions[i] = found.of.func;
    }
    if (!find_export(vm, instance, "memory", PW_EXTERN_MEMORY, &found))
        return false;
    vm->memory_export = found.of.memory;
    if (!find_export(vm, instance, "__stack_pointer", PW_EXTERN_GLOBAL, &found))
        return false;
    vm->stack_pointer = found.of.global;
    return true;
}

static bool instantiate(pw_vm *vm, pw_engine *engine, size_t size_bytes)
{
    wasmtime_instance_t instance;
    wasm_trap_t *trap = NULL;
    uint64_t before;
    vm->store = pw_api.wasmtime_store_new(engine->engine, vm, NULL);
    vm->context = pw_api.wasmtime_store_context(vm->store);
    pw_api.wasmtime_store_limiter(vm->store, engine->memory_bytes_max, -1, -1, -1, -1);
    wasmtime_error_t *error = pw_api.wasmtime_context_set_fuel(vm->context, START_FUEL);
    if (pw_take_error(error, "fuel"))
        return false;
    error = pw_api.wasmtime_instance_pre_instantiate(engine->ready, vm->context, &instance, &trap);
    vm->memory = pw_memory_just_made();
    if (pw_take_error(error, "a new instance"))
        return false;
    if (trap || !vm->memory) {
        pw_fail("a new instance", trap ? "it trapped" : "it made no memory");
        if (trap)
            pw_api.wasm_trap_delete(trap);
        return false;
    }
    if (!find_exports(vm, &instance))
        return false;
    if (size_bytes < vm->memory->size_bytes || size_bytes % WASM_PAGE_BYTES) {
        pw_fail("a new instance", "no heap has that size");
        return false;
    }
    uint64_t more = (size_bytes - vm->memory->size_bytes) / WASM_PAGE_BYTES;
    return !pw_take_error(pw_api.wasmtime_memory_grow(vm->context, &vm->memory_export, more, &before),
                          "a new instance");
}

pw_vm *pw_vm_new(pw_engine *engine, size_t size_bytes)
{
    pw_vm *vm = calloc(1, sizeof *vm);
    if (!vm) {
        pw_fail("a new instance", "out of memory");
        return NULL;
    }
    if (instantiate(vm, engine, size_bytes))
        return vm;
    pw_vm_delete(vm);
    return NULL;
}

void pw_vm_delete(pw_vm *vm)
{
    if (!vm)
        return;
    if (vm->store)
        pw_api.wasmtime_store_delete(vm->store); /* and with it the memory */
    free(vm->text);
    free(vm->pages);
    free(vm);
}

void pw_vm_interrupt(pw_vm *vm, int wanted)
{
    atomic_store_explicit(&vm->interrupted, wanted, memory_order_relaxed);
}

/* ---- a job ---- */

static bool stack_pointer_is(pw_vm *vm, uint32_t wanted)
{
    wasmtime_val_t value;
    pw_api.wasmtime_global_get(vm->context, &vm->stack_pointer, &value);
    return (uint32_t)value.of.i32 == wanted;
}

/* Memory, stack pointer, randomness and fuel as the job wants them (Invariant 14). */
static bool begin(pw_vm *vm, const pw_job *job, const pw_heap *heap)
{
    if (pw_thread_stack_bytes_left() < job->stack_bytes_min) {
        pw_fail("a job", "its thread's stack is too small");
        return false;
    }
    if (vm->memory->size_bytes != heap->size_bytes) {
        pw_fail("a job", "its heap is not of the VM's size");
        return false;
    }
    if (!pw_memory_restore(vm->memory, heap))
        return false;
    if (!stack_pointer_is(vm, job->stack_ptr)) {
        wasmtime_val_t value = {.kind = PW_KIND_I32, .of.i32 = (int32_t)job->stack_ptr};
        if (pw_take_error(pw_api.wasmtime_global_set(vm->context, &vm->stack_pointer, &value), "__stack_pointer"))
            return false;
    }
    if (job->random_state) {
        uint8_t *there = at(vm, job->random_ptr, sizeof job->random_state);
        if (!there)
            return false;
        memcpy(there, &job->random_state, sizeof job->random_state);
    }
    return !pw_take_error(pw_api.wasmtime_context_set_fuel(vm->context, job->fuel), "fuel");
}

/* Call the entry with a text. PW_OK or PW_THREW; the result gets the answer's or the error's text. */
static int enter(pw_vm *vm, const char *request, size_t len, bool wants_text, pw_result *result)
{
    const pw_job *job = vm->job;
    uint32_t argument = new_text(vm, request, len);
    uint8_t *there = at(vm, job->scratch_ptr, sizeof argument);
    if (vm->stopped != PW_OK || !there)
        return PW_OK;
    memcpy(there, &argument, sizeof argument);
    uint32_t value = CALL(vm, qjs_call, job->entry_ptr, job->undefined_ptr, 1, job->scratch_ptr);
    if (CALL(vm, qjs_is_exception, value)) {
        CALL(vm, qjs_free_value, value);
        take_exception(vm, result);
        CALL(vm, qjs_free_value, argument);
        return PW_THREW;
    }
    CALL(vm, qjs_free_value, argument);
    if (wants_text && CALL(vm, qjs_is_string, value) && !keep_value(vm, value, result))
        stop(vm, PW_MEMORY); /* a string's text can only fail to find room */
    CALL(vm, qjs_free_value, value);
    return PW_OK;
}

static void keep_heap(pw_vm *vm, const pw_base *base, pw_result *result)
{
    pw_memory *memory = vm->memory;
    if (!stack_pointer_is(vm, vm->job->stack_ptr)) {
        pw_fail("a kept heap", "the stack is not empty");
        stop(vm, PW_FAILED);
        return;
    }
    if (!pw_memory_scan(memory)) {
        stop(vm, PW_FAILED);
        return;
    }
    pw_memory_compare(memory, base);
    result->size_bytes = memory->size_bytes;
    if (memory->dirty_count > vm->job->delta_pages_max) {
        result->base = pw_base_new((const char *)memory->start, memory->size_bytes);
        if (!result->base)
            stop(vm, PW_FAILED);
        return;
    }
    if (!room_for(&vm->pages, &vm->pages_room, memory->dirty_count * (PW_PAGE_BYTES + sizeof(uint32_t)))) {
        stop(vm, PW_FAILED);
        return;
    }
    for (size_t i = 0; i < memory->dirty_count; i++)
        memcpy(vm->pages + i * PW_PAGE_BYTES, memory->start + (size_t)memory->dirty[i] * PW_PAGE_BYTES, PW_PAGE_BYTES);
    result->page_numbers = memcpy(vm->pages + memory->dirty_count * PW_PAGE_BYTES, memory->dirty,
                                  memory->dirty_count * sizeof(uint32_t));
    result->pages = vm->pages;
    result->pages_count = memory->dirty_count;
}

static int steps(pw_vm *vm, const pw_base *base, const char *request, const char *collect_request, pw_result *result)
{
    const pw_job *job = vm->job;
    if (enter(vm, request, job->request_len, !job->has_collect_request, result) == PW_THREW)
        return PW_THREW;
    while (CALL0(vm, qjs_is_job_pending))
        if ((int32_t)CALL0(vm, qjs_execute_pending_job) < 0) {
            take_exception(vm, result);
            return PW_THREW;
        }
    if (job->collect_garbage)
        CALL0(vm, qjs_run_gc);
    if (job->keep_heap && vm->stopped == PW_OK)
        keep_heap(vm, base, result);
    if (job->has_collect_request)
        return enter(vm, collect_request, job->collect_len, true, result);
    return PW_OK;
}

void pw_vm_run(pw_vm *vm, const pw_job *job, const pw_base *base, const char *page_numbers, const char *pages,
               const char *request, const char *collect_request, pw_result *result)
{
    pw_heap heap = {base, job->size_bytes, job->pages_count, (const uint32_t *)(const void *)page_numbers,
                    (const uint8_t *)pages};
    memset(result, 0, sizeof *result);
    vm->job = job;
    vm->stopped = PW_OK;
    vm->trap_code = -1;
    vm->host_calls_nested = 0;
    if (begin(vm, job, &heap)) {
        int ended = steps(vm, base, request, collect_request, result);
        stop(vm, ended);
    } else {
        stop(vm, PW_FAILED);
    }
    result->status = vm->stopped;
    result->trap_code = vm->trap_code;
    result->size_bytes = vm->memory->size_bytes;
    result->grew = vm->memory->size_bytes != job->size_bytes;
    wasmtime_error_t *error = pw_api.wasmtime_context_get_fuel(vm->context, &result->fuel_left);
    if (pw_take_error(error, "fuel"))
        result->status = PW_FAILED;
    pw_memory_trim(vm->memory);
    vm->job = NULL;
}
