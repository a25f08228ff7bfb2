/* The part of wasmtime's C API that the VM path uses, found at run time in the library of the wasmtime wheel.
 *
 * The wheel brings the library but no headers, so the layouts are declared here. `pw_open` refuses a library that
 * lacks a function, and the loader compares `pw_layouts` with wasmtime-py's own: on a mismatch correct both here.
 */
#ifndef PW_WASMTIME_H
#define PW_WASMTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct wasm_config wasm_config_t;
typedef struct wasm_engine wasm_engine_t;
typedef struct wasm_functype wasm_functype_t;
typedef struct wasm_memorytype wasm_memorytype_t;
typedef struct wasm_trap wasm_trap_t;
typedef struct wasm_valtype wasm_valtype_t;
typedef struct wasmtime_caller wasmtime_caller_t;
typedef struct wasmtime_context wasmtime_context_t;
typedef struct wasmtime_error wasmtime_error_t;
typedef struct wasmtime_instance_pre wasmtime_instance_pre_t;
typedef struct wasmtime_linker wasmtime_linker_t;
typedef struct wasmtime_module wasmtime_module_t;
typedef struct wasmtime_store wasmtime_store_t;

typedef struct {
    size_t size;
    char *data;
} wasm_byte_vec_t;

typedef struct {
    size_t size;
    wasm_valtype_t **data;
} wasm_valtype_vec_t;

typedef struct {
    uint64_t store_id;
    void *private_;
} wasmtime_func_t;

typedef struct {
    struct {
        uint64_t store_id;
        uint32_t private_1;
    } of_store;
    uint32_t private_2;
} wasmtime_memory_t;

typedef struct {
    uint64_t store_id;
    uint32_t private_1, private_2, private_3;
} wasmtime_global_t;

typedef struct {
    uint64_t store_id;
    size_t private_;
} wasmtime_instance_t;

typedef struct {
    uint8_t kind;
    union {
        wasmtime_func_t func;
        wasmtime_global_t global;
        wasmtime_memory_t memory;
    } of;
} wasmtime_extern_t;

typedef struct {
    uint8_t kind; /* 0: i32 */
    union {
        int32_t i32;
        struct {
            uint64_t store_id;
            uint32_t a, b;
            void *c;
        } largest;
    } of;
} wasmtime_val_t;

typedef union {
    int32_t i32;
    int64_t i64;
    uint8_t v128[16];
    void *align;
} wasmtime_val_raw_t;

typedef struct {
    void *env;
    uint8_t *(*get_memory)(void *env, size_t *size_bytes, size_t *size_bytes_max);
    wasmtime_error_t *(*grow_memory)(void *env, size_t size_bytes);
    void (*finalizer)(void *env);
} wasmtime_linear_memory_t;

typedef struct {
    void *env;
    wasmtime_error_t *(*new_memory)(void *env, const wasm_memorytype_t *type, size_t bytes_min, size_t bytes_max,
                                    size_t reserved_bytes, size_t guard_bytes, wasmtime_linear_memory_t *made);
    void (*finalizer)(void *env);
} wasmtime_memory_creator_t;

typedef wasm_trap_t *(*wasmtime_func_unchecked_callback_t)(void *env, wasmtime_caller_t *caller,
                                                           wasmtime_val_raw_t *raw, size_t raw_count);

enum { PW_KIND_I32 = 0, PW_KIND_I64 = 1 };
enum { PW_EXTERN_FUNC = 0, PW_EXTERN_GLOBAL = 1, PW_EXTERN_MEMORY = 3 };
enum { PW_TRAP_CODE_INTERRUPT = 10, PW_TRAP_CODE_OUT_OF_FUEL = 11 };

/* One list makes the table of functions and what fills it. */
#define PW_WASMTIME_FUNCTIONS(X)                                                                                      \
    X(wasm_functype_t *, wasm_functype_new, (wasm_valtype_vec_t * params, wasm_valtype_vec_t * results))              \
    X(void, wasm_functype_delete, (wasm_functype_t *))                                                                \
    X(wasm_valtype_t *, wasm_valtype_new, (uint8_t kind))                                                             \
    X(void, wasm_valtype_vec_new, (wasm_valtype_vec_t *, size_t count, wasm_valtype_t *const *))                      \
    X(void, wasm_byte_vec_delete, (wasm_byte_vec_t *))                                                                \
    X(void, wasm_trap_delete, (wasm_trap_t *))                                                                        \
    X(wasm_trap_t *, wasmtime_trap_new_code, (uint8_t code))                                                          \
    X(bool, wasmtime_trap_code, (const wasm_trap_t *, uint8_t *code))                                                 \
    X(wasmtime_error_t *, wasmtime_error_new, (const char *message))                                                  \
    X(void, wasmtime_error_delete, (wasmtime_error_t *))                                                              \
    X(void, wasmtime_error_message, (const wasmtime_error_t *, wasm_byte_vec_t *message))                             \
    X(void, wasmtime_config_host_memory_creator_set, (wasm_config_t *, wasmtime_memory_creator_t *))                  \
    X(wasmtime_store_t *, wasmtime_store_new, (wasm_engine_t *, void *data, void (*finalizer)(void *)))               \
    X(void, wasmtime_store_delete, (wasmtime_store_t *))                                                              \
    X(void, wasmtime_store_limiter,                                                                                   \
      (wasmtime_store_t *, int64_t memory_bytes, int64_t table_elements, int64_t instances, int64_t tables,           \
       int64_t memories))                                                                                             \
    X(wasmtime_context_t *, wasmtime_store_context, (wasmtime_store_t *))                                             \
    X(void *, wasmtime_context_get_data, (const wasmtime_context_t *))                                                \
    X(wasmtime_error_t *, wasmtime_context_set_fuel, (wasmtime_context_t *, uint64_t fuel))                           \
    X(wasmtime_error_t *, wasmtime_context_get_fuel, (const wasmtime_context_t *, uint64_t *fuel))                    \
    X(wasmtime_context_t *, wasmtime_caller_context, (wasmtime_caller_t *))                                           \
    X(wasmtime_linker_t *, wasmtime_linker_new, (wasm_engine_t *))                                                    \
    X(void, wasmtime_linker_delete, (wasmtime_linker_t *))                                                            \
    X(wasmtime_error_t *, wasmtime_linker_define_func_unchecked,                                                      \
      (wasmtime_linker_t *, const char *module, size_t module_len, const char *name, size_t name_len,                 \
       const wasm_functype_t *, wasmtime_func_unchecked_callback_t, void *env, void (*finalizer)(void *)))            \
    X(wasmtime_error_t *, wasmtime_linker_instantiate_pre,                                                            \
      (const wasmtime_linker_t *, const wasmtime_module_t *, wasmtime_instance_pre_t **))                             \
    X(wasmtime_error_t *, wasmtime_instance_pre_instantiate,                                                          \
      (const wasmtime_instance_pre_t *, wasmtime_context_t *, wasmtime_instance_t *, wasm_trap_t **))                 \
    X(void, wasmtime_instance_pre_delete, (wasmtime_instance_pre_t *))                                                \
    X(bool, wasmtime_instance_export_get,                                                                             \
      (wasmtime_context_t *, const wasmtime_instance_t *, const char *name, size_t name_len, wasmtime_extern_t *))    \
    X(wasmtime_error_t *, wasmtime_func_call_unchecked,                                                               \
      (wasmtime_context_t *, const wasmtime_func_t *, wasmtime_val_raw_t *, size_t raw_count, wasm_trap_t **))        \
    X(wasmtime_error_t *, wasmtime_memory_grow,                                                                       \
      (wasmtime_context_t *, const wasmtime_memory_t *, uint64_t wasm_pages, uint64_t *wasm_pages_before))            \
    X(void, wasmtime_global_get, (wasmtime_context_t *, const wasmtime_global_t *, wasmtime_val_t *))                 \
    X(wasmtime_error_t *, wasmtime_global_set,                                                                        \
      (wasmtime_context_t *, const wasmtime_global_t *, const wasmtime_val_t *))

typedef struct {
#define X(result, name, params) result(*name) params;
    PW_WASMTIME_FUNCTIONS(X)
#undef X
} pw_wasmtime_api;

extern pw_wasmtime_api pw_api; /* filled by pw_open */

/* Takes an error's text into the calling thread's `pw_error` and frees it; NULL means no error. */
bool pw_take_error(wasmtime_error_t *error, const char *what);
void pw_fail(const char *what, const char *why);

#endif
