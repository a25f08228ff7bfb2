/* One C call a job: the world VM's fast path. See engine/logic/vm.py for what a job is.
 *
 * Sizes are bytes, times nanoseconds, budgets units of wasm fuel. Guest addresses are 32 bits. What a function
 * returns belongs to the caller when it has a `_delete`; everything else stays with the VM until its next call.
 * No function but `pw_vm_interrupt` may be called for one VM from two threads at once.
 */
#ifndef PW_VM_H
#define PW_VM_H

#include <stddef.h>
#include <stdint.h>

/* cffi: begin */
#define PW_NATIVE_VERSION 3

typedef struct pw_engine pw_engine;
typedef struct pw_base pw_base;
typedef struct pw_vm pw_vm;

enum {
    PW_OK = 0,
    PW_THREW = 1,
    PW_FUEL = 2,
    PW_MEMORY = 3,
    PW_TRAP = 4,
    PW_INTERRUPTED = 5,
    PW_HOST_RAISED = 6,
    PW_FAILED = 7 /* ours or the system's fault, not the guest's: see pw_error */
};

/* Where a memory learns which of its pages were written; the best that the system has, unless told. */
enum { PW_DIRTY_FROM_IOCTL = 0, PW_DIRTY_FROM_PAGEMAP = 1, PW_DIRTY_UNKNOWN = 2 };

/* How the host answered: the failure that an exception in it leaves behind must be zero. */
enum { PW_ANSWER_RAISED = 0, PW_ANSWER_TEXT = 1, PW_ANSWER_UNDEFINED = 2, PW_ANSWER_THROW = 3 };

typedef struct {
    size_t size_bytes; /* of the heap */
    size_t pages_count;
    size_t request_len;
    size_t collect_len;
    uint64_t clock_ns;
    uint64_t random_state; /* 0: go on from the heap's own */
    uint64_t fuel;
    uint32_t stack_ptr, entry_ptr, raise_ptr, undefined_ptr, scratch_ptr, random_ptr;
    int has_collect_request;
    int collect_garbage;
    uint32_t slack_bytes; /* kept free after a collection */
    int keep_heap;        /* before the outcome is collected */
    int park_mark;        /* keep it afterwards, if the outcome begins with this; 0: never */
    size_t stack_bytes_min; /* that the calling thread must have left */
    size_t delta_pages_max; /* a heap with more pages of its own becomes a base */
    void *host;             /* handed to pw_host */
} pw_job;

typedef struct {
    int status;
    int trap_code;
    int grew;
    int has_text;
    uint64_t fuel_left;
    size_t size_bytes; /* of the kept heap: collecting the outcome may grow the memory further */
    const char *text;  /* until the VM's next call */
    size_t text_len;
    size_t pages_count; /* of the kept heap */
    const uint32_t *page_numbers;
    const char *pages;
    pw_base *base; /* the kept heap's new base, the caller's to delete; NULL: the old base and the pages */
} pw_result;

typedef struct {
    const char *text; /* the answer, or the message to throw; borrowed until the host's next call or the job's end */
    size_t text_len;
    const char *name; /* of the error to throw */
    size_t name_len;
} pw_answer;

/* Find wasmtime's functions in the library at `path`; 0, or -1 with pw_error. */
int pw_open(const char *path);
const char *pw_error(void); /* of this thread's last failure */

/* Sizes of the wasmtime structs as declared here: func, memory, global, extern, val, val_raw, instance,
 * linear_memory, memory_creator. */
const size_t *pw_layouts(size_t *count);

void pw_config_use_own_memory(void *wasm_config);
pw_engine *pw_engine_new(void *wasm_engine, void *wasmtime_module, int64_t memory_bytes_max);
void pw_engine_delete(pw_engine *engine);

pw_base *pw_base_new(const char *content, size_t size_bytes);
const char *pw_base_view(const pw_base *base); /* read-only, until it is deleted */
void pw_base_delete(pw_base *base);

pw_vm *pw_vm_new(pw_engine *engine, size_t size_bytes);
void pw_vm_delete(pw_vm *vm);
void pw_vm_run(pw_vm *vm, const pw_job *job, const pw_base *base, const char *page_numbers, const char *pages,
               const char *request, const char *collect_request, pw_result *result);
void pw_vm_interrupt(pw_vm *vm, int wanted); /* 1, from any thread: the job stops soon; 0: let jobs run */

int pw_dirty_pages_from(int source); /* choose, for tests; returns what will be used */
size_t pw_thread_stack_bytes_left(void);
/* cffi: end */

/* The host function, in Python: one of PW_ANSWER_*. `op` and `text` are valid during the call. */
extern int pw_host(void *host, const char *op, size_t op_len, const char *text, size_t text_len,
                   pw_answer *answer);

#endif
