/* What may be read of a stack: all of the thread's own above a frame, and of others what the kernel says is
 * readable. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "trace/stack_walk.h"

enum { PAGE = 4096, WORD = sizeof(uintptr_t) };

/* Three pages, of which the second cannot be read. */
static char *map_with_hole(void)
{
    char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
    return pages;
}

static bool reaches(const char *frame, const char *word)
{
    struct sl_stack_reach reach = sl_stack_reach_from(frame);
    return sl_stack_reaches(&reach, (uintptr_t)word);
}

/* Under valgrind, for one, the main thread has another stack than the kernel's. */
static bool has_the_kernels_stack(void)
{
    char line[512];
    bool has = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        uintptr_t start, end, here = (uintptr_t)__builtin_frame_address(0);
        if (strstr(line, " [stack]\n") && sscanf(line, "%lx-%lx", &start, &end) == 2)
            has |= here >= start && here < end;
    }
    fclose(maps);
    return has;
}

/* The kernel puts the program's name at the very end. */
static void the_main_thread(void **state)
{
    (void)state;
    if (!has_the_kernels_stack()) skip();
    const char *name = (const char *)getauxval(AT_EXECFN);
    struct sl_stack_reach reach = sl_stack_reach_from(__builtin_frame_address(0));
    assert_in_range(reach.end - (uintptr_t)name, strlen(name) + 1, PAGE + strlen(name));
}

static void *as_thread(void *unused)
{
    pthread_attr_t attributes;
    void *start;
    size_t bytes;
    assert_int_equal(pthread_getattr_np(pthread_self(), &attributes), 0);
    assert_int_equal(pthread_attr_getstack(&attributes, &start, &bytes), 0);
    pthread_attr_destroy(&attributes);
    struct sl_stack_reach reach = sl_stack_reach_from(__builtin_frame_address(0));
    assert_int_equal(reach.end, (uintptr_t)start + bytes);
    return unused;
}

static void run_in_thread(const pthread_attr_t *attributes)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, attributes, as_thread, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void other_threads(void **state)
{
    enum { BYTES = 2 << 20 }; /* the thread sanitizer wants some of it */
    pthread_attr_t attributes;
    (void)state;
    run_in_thread(NULL);
    assert_int_equal(pthread_attr_init(&attributes), 0);
    void *stack = aligned_alloc(PAGE, BYTES);
    assert_int_equal(pthread_attr_setstack(&attributes, stack, BYTES), 0);
    run_in_thread(&attributes);
    pthread_attr_destroy(&attributes);
    free(stack);
}

/* Of a stack that the program made, the frame's page is known, and each further one is asked for. */
static void other_stacks_are_readable_where_the_kernel_says_so(void **state)
{
    (void)state;
    char *pages = map_with_hole();
    char *none = pages + PAGE, *next = pages + 2 * (size_t)PAGE;
    assert_true(reaches(pages, pages + PAGE - WORD));
    assert_true(reaches(pages, next));
    assert_true(reaches(pages, next + PAGE - WORD));
    assert_false(reaches(pages, none));
    assert_false(reaches(pages, none + PAGE - WORD));
    assert_int_equal(mprotect(none, PAGE, PROT_READ), 0);
    assert_true(reaches(pages, none));
    assert_int_equal(munmap(pages, 3 * (size_t)PAGE), 0);
}

/* A frame's return address may be the first word of the next page. */
static void the_return_address_is_part_of_the_frame(void **state)
{
    (void)state;
    char *pages = map_with_hole();
    struct sl_stack_reach reach = sl_stack_reach_from(pages + PAGE - WORD);
    assert_int_equal(reach.end, pages + 2 * (size_t)PAGE);
    assert_int_equal(munmap(pages, 3 * (size_t)PAGE), 0);
}

/* What was readable in an earlier call is asked for again. */
static void nothing_is_remembered_of_other_stacks(void **state)
{
    (void)state;
    char *pages = map_with_hole(), *next = pages + 2 * (size_t)PAGE;
    assert_true(reaches(pages, next));
    assert_int_equal(mprotect(next, PAGE, PROT_NONE), 0);
    assert_false(reaches(pages, next));
    assert_int_equal(munmap(next, PAGE), 0);
    assert_false(reaches(pages, next));
    assert_int_equal(munmap(pages, 2 * (size_t)PAGE), 0);
}

static void what_is_no_address_is_not_readable(void **state)
{
    static const uintptr_t words[] = {
        0, 8, PAGE, (uintptr_t)1 << 47, (uintptr_t)1 << 63, -(uintptr_t)PAGE, -(uintptr_t)8};
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct sl_stack_reach reach = {0};
        assert_false(sl_stack_ask(&reach, words[i]));
        assert_false(sl_stack_ask(&reach, words[i]));
    }
}

static void errno_stays(void **state)
{
    (void)state;
    char *pages = map_with_hole();
    errno = E2BIG;
    reaches(pages, pages + PAGE);
    reaches(pages, pages + 2 * (size_t)PAGE);
    assert_int_equal(errno, E2BIG);
    assert_int_equal(munmap(pages, 3 * (size_t)PAGE), 0);
}

/* The main thread's stack grows; after a few calls that is noticed. */
static __attribute__((noinline)) void *look_below(size_t bytes)
{
    volatile char room[65536];
    room[bytes % sizeof room] = 1;
    if (bytes > sizeof room) return look_below(bytes - sizeof room);
    for (int i = 0; i < 2; i++) sl_stack_reach_from((const void *)room);
    return (void *)sl_stack_reach_from((const void *)room).end;
}

static void a_stack_that_has_grown(void **state)
{
    (void)state;
    if (!has_the_kernels_stack()) skip();
    uintptr_t end = sl_stack_reach_from(__builtin_frame_address(0)).end;
    assert_int_equal(look_below(2 << 20), end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_main_thread),
        cmocka_unit_test(other_threads),
        cmocka_unit_test(other_stacks_are_readable_where_the_kernel_says_so),
        cmocka_unit_test(the_return_address_is_part_of_the_frame),
        cmocka_unit_test(nothing_is_remembered_of_other_stacks),
        cmocka_unit_test(what_is_no_address_is_not_readable),
        cmocka_unit_test(errno_stays),
        cmocka_unit_test(a_stack_that_has_grown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
