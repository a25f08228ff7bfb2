/* The linked engine and its instances. */
#include <stdlib.h>
#include <string.h>

#include "pw_guest.h"

enum { WASM_PAGE_BYTES = 65536, START_FUEL = 1000000 };

struct pw_engine {
    wasm_engine_t *engine;
    wasmtime_instance_pre_t *ready;
    int64_t memory_bytes_max;
};

pw_engine *pw_engine_new(void *wasm_engine, void *wasmtime_module, int64_t memory_bytes_max)
{
    pw_engine *engine = calloc(1, sizeof *engine);
    wasmtime_linker_t *linker = pw_api.wasmtime_linker_new(wasm_engine);
    bool good = engine != NULL && guest_define_imports(linker);
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
        if (!find_export(vm, instance, GUEST_EXPORTS[i], PW_EXTERN_FUNC, &found))
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
