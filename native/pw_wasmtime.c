#define _GNU_SOURCE
#include "pw_wasmtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "pw_memory.h"
#include "pw_vm.h"

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
