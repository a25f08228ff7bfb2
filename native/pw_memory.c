#define _GNU_SOURCE
#include "pw_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* A memory that is written on more pages than this is cheaper to drop than to copy back. */
enum { DIRTY_PAGES_COPIED_MAX = 256, TRIMMED_FROM_BYTES = 4 << 20 };

/* ---- bases: a memfd, mapped once read-only for copying and many times privately under memories ---- */

struct pw_base {
    uint64_t id; /* never 0, never used twice */
    int fd;
    size_t size_bytes;
    uint8_t *view;
};

static atomic_uint_fast64_t bases_made;

pw_base *pw_base_new(const char *content, size_t size_bytes)
{
    pw_base *base = calloc(1, sizeof *base);
    if (!base) {
        pw_fail("a heap base", strerror(ENOMEM));
        return NULL;
    }
    base->id = atomic_fetch_add(&bases_made, 1) + 1;
    base->size_bytes = size_bytes;
    base->view = MAP_FAILED;
    base->fd = memfd_create("heap", MFD_CLOEXEC);
    if (base->fd < 0 || ftruncate(base->fd, (off_t)size_bytes) < 0)
        goto failed;
    for (size_t at = 0; at < size_bytes;) {
        ssize_t wrote = write(base->fd, content + at, size_bytes - at);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            goto failed;
        at += (size_t)wrote;
    }
    base->view = mmap(NULL, size_bytes, PROT_READ, MAP_SHARED, base->fd, 0);
    if (base->view != MAP_FAILED)
        return base;
failed:
    pw_fail("a heap base", strerror(errno));
    pw_base_delete(base);
    return NULL;
}

const char *pw_base_view(const pw_base *base)
{
    return (const char *)base->view;
}

void pw_base_delete(pw_base *base)
{
    if (!base)
        return;
    if (base->view != MAP_FAILED)
        munmap(base->view, base->size_bytes);
    if (base->fd >= 0)
        close(base->fd);
    free(base);
}

static const uint8_t *base_page(const pw_base *base, uint32_t number)
{
    static const uint8_t zeros[PW_PAGE_BYTES];
    size_t at = (size_t)number * PW_PAGE_BYTES;
    return at < base->size_bytes ? base->view + at : zeros;
}

/* ---- memories, as wasmtime asks for them ---- */

static _Thread_local pw_memory *just_made;

pw_memory *pw_memory_just_made(void)
{
    pw_memory *memory = just_made;
    just_made = NULL;
    return memory;
}

static uint8_t *memory_get(void *env, size_t *size_bytes, size_t *size_bytes_max)
{
    pw_memory *memory = env;
    *size_bytes = memory->size_bytes;
    *size_bytes_max = memory->reserved_bytes;
    return memory->start;
}

static wasmtime_error_t *memory_grow(void *env, size_t size_bytes)
{
    pw_memory *memory = env;
    size_t more = size_bytes - memory->size_bytes;
    if (more && mprotect(memory->start + memory->size_bytes, more, PROT_READ | PROT_WRITE) < 0)
        return pw_api.wasmtime_error_new("the system gives no more memory");
    memory->size_bytes = size_bytes;
    return NULL;
}

static void memory_delete(void *env)
{
    pw_memory *memory = env;
    munmap(memory->start, memory->reserved_bytes);
    free(memory->dirty);
    free(memory);
}

static wasmtime_error_t *memory_new(void *env, const wasm_memorytype_t *type, size_t bytes_min, size_t bytes_max,
                                    size_t reserved_bytes, size_t guard_bytes, wasmtime_linear_memory_t *made)
{
    (void)env, (void)type, (void)bytes_max;
    if (reserved_bytes < bytes_min)
        return pw_api.wasmtime_error_new("a memory that moves as it grows is not supported");
    pw_memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        return pw_api.wasmtime_error_new("no memory for a memory");
    memory->reserved_bytes = reserved_bytes + guard_bytes;
    memory->start = mmap(NULL, memory->reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory->start == MAP_FAILED) {
        free(memory);
        return pw_api.wasmtime_error_new("no address space for a memory");
    }
    madvise(memory->start, reserved_bytes, MADV_NOHUGEPAGE); /* pages are counted and reset one by one */
    made->env = memory;
    made->get_memory = memory_get;
    made->grow_memory = memory_grow;
    made->finalizer = memory_delete;
    just_made = memory;
    return memory_grow(memory, bytes_min);
}

void pw_memory_creator_install(wasm_config_t *config)
{
    wasmtime_memory_creator_t creator = {NULL, memory_new, NULL};
    pw_api.wasmtime_config_host_memory_creator_set(config, &creator);
}

/* ---- which pages were written: those that no longer belong to the file below ---- */

/* PAGEMAP_SCAN, Linux 6.7, declared here because most headers are older. */
struct page_region {
    uint64_t start, end, categories;
};
struct scan_arguments {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define SCAN_IOCTL _IOWR('f', 16, struct scan_arguments)
enum { CATEGORY_FILE = 1 << 2, CATEGORY_PRESENT = 1 << 3, CATEGORY_SWAPPED = 1 << 4 };
enum { REGIONS_AT_ONCE = 128, ENTRIES_AT_ONCE = 512 };

static const uint64_t ENTRY_PRESENT = 1ull << 63, ENTRY_SWAPPED = 1ull << 62, ENTRY_FILE = 1ull << 61;

static int pagemap_fd = -1; /* of this process: it would go on speaking of the parent after a fork */
static int dirty_from = PW_DIRTY_UNKNOWN;

static void open_pagemap(void)
{
    pagemap_fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
}

int pw_dirty_pages_from(int source)
{
    static uint8_t here[2 * PW_PAGE_BYTES];
    uint64_t start = ((uint64_t)(uintptr_t)here + PW_PAGE_BYTES - 1) / PW_PAGE_BYTES * PW_PAGE_BYTES, entry;
    struct scan_arguments scan = {.size = sizeof scan, .start = start, .end = start + PW_PAGE_BYTES};
    if (source == PW_DIRTY_FROM_IOCTL && ioctl(pagemap_fd, SCAN_IOCTL, &scan) < 0)
        source = PW_DIRTY_FROM_PAGEMAP;
    if (source == PW_DIRTY_FROM_PAGEMAP &&
        pread(pagemap_fd, &entry, sizeof entry, (off_t)(start / PW_PAGE_BYTES * sizeof entry)) != sizeof entry)
        source = PW_DIRTY_UNKNOWN;
    return dirty_from = source;
}

int pw_memory_open(void)
{
    open_pagemap();
    if (pthread_atfork(NULL, NULL, open_pagemap) != 0)
        return -1;
    pw_dirty_pages_from(PW_DIRTY_FROM_IOCTL);
    return 0;
}

static bool dirty_add(pw_memory *memory, uint32_t first, uint32_t end)
{
    size_t wanted = memory->dirty_count + (end - first);
    if (wanted > memory->dirty_room) {
        size_t room = wanted * 2;
        uint32_t *larger = realloc(memory->dirty, room * sizeof *larger);
        if (!larger) {
            pw_fail("the list of written pages", strerror(ENOMEM));
            return false;
        }
        memory->dirty = larger;
        memory->dirty_room = room;
    }
    for (uint32_t number = first; number < end; number++)
        memory->dirty[memory->dirty_count++] = number;
    return true;
}

static bool scan_by_ioctl(pw_memory *memory)
{
    struct page_region regions[REGIONS_AT_ONCE];
    uint64_t start = (uint64_t)(uintptr_t)memory->start, end = start + memory->size_bytes;
    for (uint64_t at = start; at < end;) {
        struct scan_arguments scan = {
            .size = sizeof scan,
            .start = at,
            .end = end,
            .vec = (uint64_t)(uintptr_t)regions,
            .vec_len = REGIONS_AT_ONCE,
            .category_inverted = CATEGORY_FILE,
            .category_mask = CATEGORY_FILE,
            .category_anyof_mask = CATEGORY_PRESENT | CATEGORY_SWAPPED,
            .return_mask = CATEGORY_PRESENT,
        };
        int found = ioctl(pagemap_fd, SCAN_IOCTL, &scan);
        if (found < 0) {
            pw_fail("the scan for written pages", strerror(errno));
            return false;
        }
        for (int i = 0; i < found; i++)
            if (!dirty_add(memory, (uint32_t)((regions[i].start - start) / PW_PAGE_BYTES),
                           (uint32_t)((regions[i].end - start) / PW_PAGE_BYTES)))
                return false;
        at = scan.walk_end > at ? scan.walk_end : end;
    }
    return true;
}

static bool scan_by_pagemap(pw_memory *memory)
{
    uint64_t entries[ENTRIES_AT_ONCE];
    uint64_t first = (uint64_t)(uintptr_t)memory->start / PW_PAGE_BYTES;
    uint32_t count = (uint32_t)(memory->size_bytes / PW_PAGE_BYTES);
    for (uint32_t at = 0; at < count;) {
        uint32_t some = count - at < ENTRIES_AT_ONCE ? count - at : ENTRIES_AT_ONCE;
        ssize_t got = pread(pagemap_fd, entries, some * sizeof *entries, (off_t)((first + at) * sizeof *entries));
        if (got <= 0) {
            pw_fail("the reading of written pages", got < 0 ? strerror(errno) : "it ended early");
            return false;
        }
        some = (uint32_t)((size_t)got / sizeof *entries);
        for (uint32_t i = 0; i < some; i++)
            if ((entries[i] & (ENTRY_PRESENT | ENTRY_SWAPPED)) && !(entries[i] & ENTRY_FILE) &&
                !dirty_add(memory, at + i, at + i + 1))
                return false;
        at += some;
    }
    return true;
}

bool pw_memory_scan(pw_memory *memory)
{
    memory->dirty_count = 0;
    if (dirty_from == PW_DIRTY_FROM_IOCTL)
        return scan_by_ioctl(memory);
    if (dirty_from == PW_DIRTY_FROM_PAGEMAP)
        return scan_by_pagemap(memory);
    return dirty_add(memory, 0, (uint32_t)(memory->size_bytes / PW_PAGE_BYTES));
}

void pw_memory_compare(pw_memory *memory, const pw_base *base)
{
    size_t kept = 0;
    for (size_t i = 0; i < memory->dirty_count; i++) {
        uint32_t number = memory->dirty[i];
        if (memcmp(memory->start + (size_t)number * PW_PAGE_BYTES, base_page(base, number), PW_PAGE_BYTES) != 0)
            memory->dirty[kept++] = number;
    }
    memory->dirty_count = kept;
}

/* ---- restoring ---- */

/* Lay the base and zeros below the memory; nothing of it is private afterwards. */
static bool map_base(pw_memory *memory, const pw_base *base)
{
    int how = MAP_PRIVATE | MAP_FIXED, may = PROT_READ | PROT_WRITE;
    uint8_t *after = memory->start + base->size_bytes;
    size_t zeros_bytes = memory->size_bytes - base->size_bytes;
    memory->base_id = 0;
    if (mmap(memory->start, base->size_bytes, may, how, base->fd, 0) == MAP_FAILED ||
        (zeros_bytes && mmap(after, zeros_bytes, may, how | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED) ||
        (zeros_bytes && madvise(after, zeros_bytes, MADV_NOHUGEPAGE) < 0)) {
        pw_fail("the mapping of a heap", strerror(errno));
        return false;
    }
    memory->base_id = base->id;
    return true;
}

static void copy_page(pw_memory *memory, uint32_t number, const uint8_t *page)
{
    memcpy(memory->start + (size_t)number * PW_PAGE_BYTES, page, PW_PAGE_BYTES);
}

/* Forget everything that was written. */
static void drop_written(pw_memory *memory)
{
    madvise(memory->start, memory->size_bytes, MADV_DONTNEED);
    memory->dirty_count = 0;
}

void pw_memory_trim(pw_memory *memory)
{
    if (memory->size_bytes < TRIMMED_FROM_BYTES)
        return;
    if (dirty_from == PW_DIRTY_UNKNOWN || !pw_memory_scan(memory) || memory->dirty_count > DIRTY_PAGES_COPIED_MAX)
        drop_written(memory);
}

bool pw_memory_restore(pw_memory *memory, const pw_heap *heap)
{
    memory->dirty_count = 0;
    if (memory->base_id != heap->base->id) {
        if (!map_base(memory, heap->base))
            return false;
    } else if (dirty_from == PW_DIRTY_UNKNOWN) {
        drop_written(memory);
    } else if (!pw_memory_scan(memory)) {
        return false;
    } else if (memory->dirty_count > DIRTY_PAGES_COPIED_MAX) {
        drop_written(memory);
    }
    /* Both lists ascend: written pages get the base's bytes unless the heap has its own for them. */
    size_t own = 0;
    for (size_t i = 0; i < memory->dirty_count; i++) {
        uint32_t number = memory->dirty[i];
        for (; own < heap->pages_count && heap->page_numbers[own] < number; own++)
            copy_page(memory, heap->page_numbers[own], heap->pages + own * PW_PAGE_BYTES);
        if (own < heap->pages_count && heap->page_numbers[own] == number)
            continue; /* its turn comes, once, in the loops over the heap's own pages */
        copy_page(memory, number, base_page(heap->base, number));
    }
    for (; own < heap->pages_count; own++)
        copy_page(memory, heap->page_numbers[own], heap->pages + own * PW_PAGE_BYTES);
    return true;
}
