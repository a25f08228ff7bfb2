/* Speaking with the guest: calls of its exports, its memory, its texts. Internal to native/. */
#ifndef PW_GUEST_H
#define PW_GUEST_H

#include <stdatomic.h>

#include "pw_memory.h"
#include "pw_vm.h"
#include "pw_wasmtime.h"

enum { RAW_ARGUMENTS_MAX = 5 };

/* The exports that jobs call. One list makes their numbers and their names. */
#define GUEST_EXPORTS_LIST(X)                                                                                         \
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
    GUEST_EXPORTS_LIST(X)
#undef X
        EXPORTS_COUNT
};
extern const char *const GUEST_EXPORTS[EXPORTS_COUNT];

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

/* End the job as `status`, unless it is ending already. */
void guest_stop(pw_vm *vm, int status);

/* The bytes at a guest address; NULL, with the VM stopped, when they do not lie in its memory. */
uint8_t *guest_at(pw_vm *vm, uint32_t ptr, size_t len);

/* Call an export; 0 when the VM is stopped or the call stops it, so the caller looks at vm->stopped. */
uint32_t guest_call(pw_vm *vm, enum export_number which, const uint32_t *arguments, size_t count);

/* CALL(vm, qjs_call, f, this_, count, values): an export by its name. */
#define ARGUMENTS(...) ((const uint32_t[]){__VA_ARGS__})
#define CALL(vm, name, ...)                                                                                           \
    guest_call(vm, EXPORT_##name, ARGUMENTS(__VA_ARGS__), sizeof ARGUMENTS(__VA_ARGS__) / sizeof(uint32_t))
#define CALL0(vm, name) guest_call(vm, EXPORT_##name, NULL, 0)

/* A handle of a new string. */
uint32_t guest_new_text(pw_vm *vm, const char *text, size_t len);

/* A value as text; false when the conversion threw (the error is pending) or the VM stopped. */
bool guest_borrow_text(pw_vm *vm, uint32_t value, guest_text *text);

/* Give a linker everything that the engine imports. */
bool guest_define_imports(wasmtime_linker_t *linker);

#endif
