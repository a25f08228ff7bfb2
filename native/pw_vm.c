/* A job: restore, enter, drain, keep, collect, park. */
#include "pw_vm.h"

#include <stdlib.h>
#include <string.h>

#include "pw_guest.h"

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
        guest_stop(vm, PW_FAILED);
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
    if (!guest_borrow_text(vm, value, &text))
        return false;
    keep_text(vm, guest_at(vm, text.ptr, text.len), text.len, result);
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
        uint8_t *there = guest_at(vm, job->random_ptr, sizeof job->random_state);
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
    uint32_t argument = guest_new_text(vm, request, len);
    uint8_t *there = guest_at(vm, job->scratch_ptr, sizeof argument);
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
        guest_stop(vm, PW_MEMORY); /* a string's text can only fail to find room */
    CALL(vm, qjs_free_value, value);
    return PW_OK;
}

static void keep_heap(pw_vm *vm, const pw_base *base, pw_result *result)
{
    pw_memory *memory = vm->memory;
    if (!stack_pointer_is(vm, vm->job->stack_ptr)) {
        pw_fail("a kept heap", "the stack is not empty");
        guest_stop(vm, PW_FAILED);
        return;
    }
    if (!pw_memory_scan(memory)) {
        guest_stop(vm, PW_FAILED);
        return;
    }
    pw_memory_compare(memory, base);
    result->size_bytes = memory->size_bytes;
    if (memory->dirty_count > vm->job->delta_pages_max) {
        result->base = pw_base_new((const char *)memory->start, memory->size_bytes);
        if (!result->base)
            guest_stop(vm, PW_FAILED);
        return;
    }
    if (!room_for(&vm->pages, &vm->pages_room, memory->dirty_count * (PW_PAGE_BYTES + sizeof(uint32_t)))) {
        guest_stop(vm, PW_FAILED);
        return;
    }
    for (size_t i = 0; i < memory->dirty_count; i++)
        memcpy(vm->pages + i * PW_PAGE_BYTES, memory->start + (size_t)memory->dirty[i] * PW_PAGE_BYTES, PW_PAGE_BYTES);
    result->page_numbers = memcpy(vm->pages + memory->dirty_count * PW_PAGE_BYTES, memory->dirty,
                                  memory->dirty_count * sizeof(uint32_t));
    result->pages = vm->pages;
    result->pages_count = memory->dirty_count;
}

/* Whether the outcome says that the operation waits for answers. */
static bool waits(const pw_job *job, const pw_result *result)
{
    return job->park_mark && result->has_text && result->text_len && (uint8_t)result->text[0] == job->park_mark;
}

/* Run the microtasks that wait, and those that they make. PW_OK or PW_THREW. */
static int drain(pw_vm *vm, pw_result *result)
{
    while (CALL0(vm, qjs_is_job_pending))
        if ((int32_t)CALL0(vm, qjs_execute_pending_job) < 0) {
            take_exception(vm, result);
            return PW_THREW;
        }
    return PW_OK;
}

/* Collect until no finaliser has anything left to say: a kept heap must not hold work for the next job. */
static int collect_garbage(pw_vm *vm, pw_result *result)
{
    CALL0(vm, qjs_run_gc);
    while (CALL0(vm, qjs_is_job_pending)) {
        if (drain(vm, result) == PW_THREW)
            return PW_THREW;
        CALL0(vm, qjs_run_gc);
    }
    return PW_OK;
}

static int steps(pw_vm *vm, const pw_base *base, const char *request, const char *collect_request, pw_result *result)
{
    const pw_job *job = vm->job;
    if (enter(vm, request, job->request_len, !job->has_collect_request, result) == PW_THREW)
        return PW_THREW;
    if (drain(vm, result) == PW_THREW)
        return PW_THREW;
    if (job->collect_garbage) {
        if (collect_garbage(vm, result) == PW_THREW)
            return PW_THREW;
        uint32_t slack = CALL(vm, wasm_malloc, job->slack_bytes);
        if (slack)
            CALL(vm, wasm_free, slack);
    }
    if (job->keep_heap && vm->stopped == PW_OK)
        keep_heap(vm, base, result);
    if (job->has_collect_request) {
        int ended = enter(vm, collect_request, job->collect_len, true, result);
        if (ended == PW_OK && vm->stopped == PW_OK && waits(job, result))
            keep_heap(vm, base, result);
        return ended;
    }
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
        guest_stop(vm, ended);
    } else {
        guest_stop(vm, PW_FAILED);
    }
    result->status = vm->stopped;
    result->trap_code = vm->trap_code;
    result->grew = vm->memory->size_bytes != job->size_bytes;
    wasmtime_error_t *error = pw_api.wasmtime_context_get_fuel(vm->context, &result->fuel_left);
    if (pw_take_error(error, "fuel"))
        result->status = PW_FAILED;
    pw_memory_trim(vm->memory);
    vm->job = NULL;
}
