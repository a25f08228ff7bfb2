#include "pw_guest.h"

#include <string.h>

const char *const GUEST_EXPORTS[EXPORTS_COUNT] = {
#define X(name) #name,
    GUEST_EXPORTS_LIST(X)
#undef X
};

void guest_stop(pw_vm *vm, int status)
{
    if (vm->stopped == PW_OK)
        vm->stopped = status;
}

uint8_t *guest_at(pw_vm *vm, uint32_t ptr, size_t len)
{
    if (ptr <= vm->memory->size_bytes && len <= vm->memory->size_bytes - ptr)
        return vm->memory->start + ptr;
    guest_stop(vm, PW_TRAP);
    return NULL;
}

uint32_t guest_call(pw_vm *vm, enum export_number which, const uint32_t *arguments, size_t count)
{
    if (vm->stopped != PW_OK)
        return 0;
    wasmtime_val_raw_t raw[RAW_ARGUMENTS_MAX];
    wasm_trap_t *trap = NULL;
    for (size_t i = 0; i < count; i++)
        raw[i].i32 = (int32_t)arguments[i];
    wasmtime_error_t *error =
        pw_api.wasmtime_func_call_unchecked(vm->context, &vm->functions[which], raw, RAW_ARGUMENTS_MAX, &trap);
    if (pw_take_error(error, GUEST_EXPORTS[which])) {
        guest_stop(vm, PW_FAILED);
        return 0;
    }
    if (trap) {
        uint8_t code = 0;
        bool known = pw_api.wasmtime_trap_code(trap, &code);
        pw_api.wasm_trap_delete(trap);
        if (vm->stopped == PW_OK)
            vm->trap_code = known ? code : -1;
        guest_stop(vm, known && code == PW_TRAP_CODE_OUT_OF_FUEL ? PW_FUEL : PW_TRAP);
        return 0;
    }
    return (uint32_t)raw[0].i32;
}

uint32_t guest_new_text(pw_vm *vm, const char *text, size_t len)
{
    uint32_t ptr = CALL(vm, wasm_malloc, (uint32_t)len + 1);
    if (ptr == 0) {
        guest_stop(vm, PW_MEMORY);
        return 0;
    }
    uint8_t *there = guest_at(vm, ptr, len + 1);
    if (!there)
        return 0;
    memcpy(there, text, len);
    there[len] = 0;
    uint32_t value = CALL(vm, qjs_new_string, ptr, (uint32_t)len);
    CALL(vm, wasm_free, ptr);
    return value;
}

bool guest_borrow_text(pw_vm *vm, uint32_t value, guest_text *text)
{
    uint32_t scratch = vm->job->scratch_ptr;
    text->ptr = CALL(vm, qjs_get_string_len, value, scratch);
    uint8_t *there = guest_at(vm, scratch, sizeof text->len);
    if (text->ptr == 0 || !there)
        return false;
    memcpy(&text->len, there, sizeof text->len);
    return guest_at(vm, text->ptr, text->len) != NULL;
}
