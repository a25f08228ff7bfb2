/* Linear memories that reset themselves to a heap: copy-on-write over a shared base, in pages of 4 KiB. */
#ifndef PW_MEMORY_H
#define PW_MEMORY_H

#include "pw_vm.h"
#include "pw_wasmtime.h"

enum { PW_PAGE_BYTES = 4096 };

/* A heap as a restore needs it: a base and the pages that differ, numbers ascending. Borrowed from the caller. */
typedef struct {
    const pw_base *base;
    size_t size_bytes; /* of the heap; beyond the base it is zero */
    size_t pages_count;
    const uint32_t *page_numbers;
    const uint8_t *pages;
} pw_heap;

typedef struct pw_memory {
    uint8_t *start;
    size_t size_bytes;
    size_t reserved_bytes; /* address space, guard included */
    uint64_t base_id;      /* of the base that lies below; 0: none yet */
    uint32_t *dirty;       /* numbers of the written pages, ascending, as of the last pw_memory_scan */
    size_t dirty_count, dirty_room;
} pw_memory;

/* Once a process: find out how written pages can be known. */
int pw_memory_open(void);

void pw_memory_creator_install(wasm_config_t *config);

/* The memory made last on this thread, once: how an instance finds its own. */
pw_memory *pw_memory_just_made(void);

/* Make the memory's bytes those of `heap`; false with pw_error set when the system refuses. */
bool pw_memory_restore(pw_memory *memory, const pw_heap *heap);

/* After a job: give back at once what a large heap wrote, if the next restore would drop it anyway. */
void pw_memory_trim(pw_memory *memory);

/* List the pages that may differ from the base: a superset of them. */
bool pw_memory_scan(pw_memory *memory);

/* Drop from the list the pages that equal the base's. */
void pw_memory_compare(pw_memory *memory, const pw_base *base);

#endif
