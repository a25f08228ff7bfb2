/* What the engine imports: the host functions, the clock, and the little of WASI that it asks for. */
#include <string.h>

#include "pw_guest.h"

enum { HOST_CALLS_NESTED_MAX = 64, WASI_BADF = 8, WASI_NOSYS = 52 };

/* Leave an error pending in the guest; the 0 that comes back tells its trampoline so. */
static uint32_t throw_in_guest(pw_vm *vm, const pw_answer *answer)
{
    const pw_job *job = vm->job;
    uint32_t arguments[2];
    arguments[0] = guest_new_text(vm, answer->name, answer->name_len);
    arguments[1] = guest_new_text(vm, answer->text, answer->text_len);
    uint8_t *there = guest_at(vm, job->scratch_ptr, sizeof arguments);
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
    int how = pw_host(vm->job->host, (const char *)guest_at(vm, op.ptr, op.len), op.len,
                      (const char *)guest_at(vm, text.ptr, text.len), text.len, &answer);
    if (how == PW_ANSWER_RAISED)
        guest_stop(vm, PW_HOST_RAISED);
    CALL(vm, qjs_free_cstring, text.ptr);
    CALL(vm, qjs_free_cstring, op.ptr);
    switch (how) {
    case PW_ANSWER_TEXT:
        return guest_new_text(vm, answer.text, answer.text_len);
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

/* Collect garbage in the midst of a job, at a point that the guest chose: the same on every machine. */
static uint32_t collect(pw_vm *vm, guest_text first, guest_text second)
{
    CALL(vm, qjs_free_cstring, second.ptr);
    CALL(vm, qjs_free_cstring, first.ptr);
    CALL0(vm, qjs_run_gc);
    return CALL0(vm, qjs_get_undefined);
}

static bool is_named(const uint8_t *name, uint32_t name_len, const char *wanted)
{
    return name_len == strlen(wanted) && memcmp(name, wanted, name_len) == 0;
}

static uint32_t host_call(pw_vm *vm, const wasmtime_val_raw_t *raw)
{
    uint32_t name_len = (uint32_t)raw[1].i32, values[2];
    if (!vm->job) {
        guest_stop(vm, PW_TRAP);
        return 0;
    }
    if (raw[3].i32 != 2)
        return throw_message(vm, "TypeError", "a host function takes two texts");
    const uint8_t *name = guest_at(vm, (uint32_t)raw[0].i32, name_len);
    const uint8_t *there = guest_at(vm, (uint32_t)raw[4].i32, sizeof values);
    if (!name || !there)
        return 0;
    uint32_t (*function)(pw_vm *, guest_text, guest_text) = is_named(name, name_len, "host")      ? host
                                                            : is_named(name, name_len, "collect") ? collect
                                                                                                  : compile;
    memcpy(values, there, sizeof values);
    if (vm->host_calls_nested == HOST_CALLS_NESTED_MAX)
        return throw_message(vm, "RangeError", "Maximum call stack size exceeded");
    guest_text first, second;
    if (!guest_borrow_text(vm, values[0], &first) || !guest_borrow_text(vm, values[1], &second))
        return 0;
    vm->host_calls_nested++;
    uint32_t value = function(vm, first, second);
    vm->host_calls_nested--;
    return value;
}

static uint32_t host_interrupt(pw_vm *vm, const wasmtime_val_raw_t *raw)
{
    (void)raw;
    if (atomic_load_explicit(&vm->interrupted, memory_order_relaxed))
        guest_stop(vm, PW_INTERRUPTED);
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
    uint8_t *there = guest_at(vm, (uint32_t)raw[2].i32, sizeof now_ns);
    if (there)
        memcpy(there, &now_ns, sizeof now_ns);
    return 0;
}

static uint32_t random_get(pw_vm *vm, const wasmtime_val_raw_t *raw)
{
    uint8_t *there = guest_at(vm, (uint32_t)raw[0].i32, (uint32_t)raw[1].i32);
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

bool guest_define_imports(wasmtime_linker_t *linker)
{
    for (size_t i = 0; i < sizeof IMPORTS / sizeof *IMPORTS; i++)
        if (!define(linker, &IMPORTS[i]))
            return false;
    return true;
}
