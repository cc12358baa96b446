/* Host memory for a pinned slab: where it lies, what behind it is nobody else's, and that a child has none of
 * it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/cuda_slabs.h"

static const uint64_t sizes[] = {SL_BLOCK_BYTES, SL_GIB - SL_BLOCK_BYTES, SL_GIB, SL_GIB + SL_BLOCK_BYTES};
enum { SIZES = sizeof(sizes) / sizeof(*sizes) };

static uint64_t reserved(uint64_t bytes)
{
    uint64_t address = 0;
    assert_int_equal(sl_reserve(bytes, &address), SL_OK);
    return address;
}

/* The rights of the mapping that the address is in, such as "rw-p"; "": there is none. */
static const char *rights_of(uint64_t address)
{
    static char rights[8];
    unsigned long long first, end;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!maps) abort();
    bool found = false;
    while (!found && fgets(line, sizeof(line), maps))
        found = sscanf(line, "%llx-%llx %4s", &first, &end, rights) == 3 && address >= first && address < end;
    fclose(maps);
    return found ? rights : "";
}

/* Whether the page is free for anybody who maps memory there. */
static bool is_free(uint64_t address)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *given =
        mmap((void *)address, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (given == MAP_FAILED) return false;
    munmap(given, page);
    return given == (void *)address;
}

static void memory_starts_at_a_gib_and_ends_with_its_size(void **state)
{
    (void)state;
    for (int i = 0; i < SIZES; i++) {
        uint64_t address = reserved(sizes[i]), end = address + sizes[i];
        assert_int_equal(address % SL_GIB, 0);
        *(volatile char *)address = 1;
        *(volatile char *)(end - 1) = 2;
        assert_int_equal(*(volatile char *)(end - SL_KIB), 0);
        if (end % SL_GIB) assert_string_equal(rights_of(end), "---p");
        sl_unreserve(address, sizes[i]);
    }
}

/* A slab is known by the GiB that an address is in: no other memory may be in its last one. */
static void the_rest_of_the_last_gib_is_nobody_elses(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < SIZES; i++) {
        uint64_t address = reserved(sizes[i]), last = (address + sizes[i] - 1) | (SL_GIB - 1);
        assert_false(is_free(address));
        assert_false(is_free(address + sizes[i] - page));
        assert_false(is_free((last + 1) - page));
        if (sizes[i] % SL_GIB) assert_false(is_free(address + sizes[i]));
        sl_unreserve(address, sizes[i]);
        assert_true(is_free(address));
        assert_true(is_free((last + 1) - page));
    }
}

static void slabs_lie_apart(void **state)
{
    (void)state;
    uint64_t one = reserved(SL_BLOCK_BYTES), other = reserved(SL_BLOCK_BYTES);
    assert_true((one > other ? one - other : other - one) >= SL_GIB);
    sl_unreserve(one, SL_BLOCK_BYTES);
    *(volatile char *)other = 1;
    sl_unreserve(other, SL_BLOCK_BYTES);
}

/* The device goes on writing to the parent's pages: a copy that a child makes would move the parent's away.
 */
static void a_child_has_none_of_it(void **state)
{
    (void)state;
    uint64_t address = reserved(SL_BLOCK_BYTES);
    int status;
    *(volatile char *)address = 1;
    pid_t child = fork();
    if (child == 0) _exit(*rights_of(address) || *rights_of(address + SL_BLOCK_BYTES - 1));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_string_equal(rights_of(address), "rw-p");
    sl_unreserve(address, SL_BLOCK_BYTES);
}

static void more_than_there_are_addresses_is_refused(void **state)
{
    (void)state;
    uint64_t address = 77;
    assert_int_equal(sl_reserve((uint64_t)1 << 62, &address), SL_ERR_NO_MEMORY);
    assert_int_equal(address, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_starts_at_a_gib_and_ends_with_its_size),
        cmocka_unit_test(the_rest_of_the_last_gib_is_nobody_elses),
        cmocka_unit_test(slabs_lie_apart),
        cmocka_unit_test(a_child_has_none_of_it),
        cmocka_unit_test(more_than_there_are_addresses_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
