/* Which memory has host pages: found by samples, of arenas and of what the program pins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "core/host_pages.h"
#include "memory/arena.h"

#define CHUNK (4 * SL_MIB)

static void *reserved;

static enum sl_status slab_new(void *self, uint64_t bytes, uint64_t *address)
{
    (void)self;
    reserved = mmap(NULL, bytes + SL_GIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                    -1, 0);
    assert_ptr_not_equal(reserved, MAP_FAILED);
    madvise(reserved, bytes + SL_GIB, MADV_NOHUGEPAGE);
    *address = ((uint64_t)reserved + SL_GIB - 1) & ~(SL_GIB - 1);
    return SL_OK;
}

static void slab_delete(void *self, uint64_t address, uint64_t bytes)
{
    (void)self, (void)address;
    assert_int_equal(munmap(reserved, bytes + SL_GIB), 0);
}

static struct sl_host_pages pages_of(const struct sl_arena *arena)
{
    struct sl_host_pages pages = {0};
    sl_host_pages_add(arena, 0, &pages);
    return pages;
}

static void pages_of_an_arena(void **state)
{
    (void)state;
    struct sl_backend backend = {.slab_new = slab_new, .slab_delete = slab_delete};
    struct sl_arena *arena = calloc(1, sizeof(*arena));
    sl_chunk first;
    sl_arena_init(arena, &backend, CHUNK);
    assert_int_equal(pages_of(arena).bytes, 0);
    assert_int_equal(sl_arena_take(arena, 4 * CHUNK, &first), SL_OK);
    struct sl_chunk_record *chunk = sl_arena_record(arena, first);
    assert_int_equal(pages_of(arena).bytes, 0);
    *(volatile char *)chunk->address = 1; /* by blocks of 2 MiB */
    assert_int_equal(pages_of(arena).bytes, CHUNK / 2);
    memset((void *)chunk->address, 1, 2 * CHUNK);
    assert_int_equal(pages_of(arena).bytes, 2 * CHUNK);
    assert_false(pages_of(arena).of_device);
    atomic_store(&chunk->content, SL_CONTENT_RESIDENT);
    assert_true(pages_of(arena).of_device);
    atomic_store(&sl_arena_record(arena, first + 3)->out_sequence, 1); /* not known to be done */
    assert_int_equal(pages_of(arena).bytes, 2 * CHUNK);
    sl_arena_give(arena, first); /* memory that is free keeps its pages */
    assert_int_equal(pages_of(arena).bytes, 2 * CHUNK);
    sl_arena_close(arena, false);
    free(arena);
}

static void pages_that_registration_would_add(void **state)
{
    (void)state;
    char *memory = mmap(NULL, 64 * SL_MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    madvise(memory, 64 * SL_MIB, MADV_NOHUGEPAGE);
    uint64_t address = (uint64_t)memory;
    assert_int_equal(sl_host_pages_missing(address, 100), 100);
    assert_int_equal(sl_host_pages_missing(address, 0), 0);
    assert_int_equal(sl_host_pages_missing(address, UINT64_MAX), 0);
    memset(memory, 1, 32 * SL_MIB);
    uint64_t missing = sl_host_pages_missing(address, 64 * SL_MIB);
    assert_in_range(missing, 31 * SL_MIB, 33 * SL_MIB);
    memset(memory, 1, 64 * SL_MIB);
    assert_int_equal(sl_host_pages_missing(address, 64 * SL_MIB), 0);
    munmap(memory, 64 * SL_MIB);
    assert_int_equal(sl_host_pages_missing(address, 64 * SL_MIB), 0); /* what is no memory needs none */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_of_an_arena),
        cmocka_unit_test(pages_that_registration_would_add),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
