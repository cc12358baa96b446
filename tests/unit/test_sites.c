/* Sites: one number for one call stack, in every thread and in every run, and another for every other stack.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/objects.h"
#include "trace/stack_walk.h"

static const char *program;

/* Stands for a hook: the site is that of its caller. The assembly keeps each call from being the last thing
 * that is done, and two calls from being made one. */
static __attribute__((noinline)) uint64_t hook(void)
{
    uint64_t site = sl_site_here(__builtin_return_address(0));
    __asm__ volatile("# hooked");
    return site;
}

static __attribute__((noinline)) uint64_t one_place(void)
{
    uint64_t site = hook();
    __asm__ volatile("# one");
    return site;
}

static __attribute__((noinline)) uint64_t another_place(void)
{
    uint64_t site = hook();
    __asm__ volatile("# another");
    return site;
}

/* `depth` frames of this function, and then of the given one. */
static __attribute__((noinline)) uint64_t deep(unsigned depth, uint64_t (*innermost)(void))
{
    uint64_t site = depth ? deep(depth - 1, innermost) : innermost();
    __asm__ volatile("# deep");
    return site;
}

static volatile int times = 3; /* so that no loop is unrolled */

static void one_stack_is_one_site(void **state)
{
    (void)state;
    uint64_t sites[3];
    for (int i = 0; i < times; i++) sites[i] = one_place();
    assert_int_not_equal(sites[0], 0);
    assert_int_equal(sites[1], sites[0]);
    assert_int_equal(sites[2], sites[0]);
    assert_int_not_equal(one_place(), sites[0]); /* from another line */
}

static void every_frame_counts(void **state)
{
    (void)state;
    uint64_t sites[6];
    for (unsigned depth = 0; depth < 3; depth++) {
        sites[2 * depth] = deep(depth, one_place);
        sites[2 * depth + 1] = deep(depth, another_place);
    }
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < i; j++) assert_int_not_equal(sites[i], sites[j]);
}

/* Recursion would make a site of every depth. Innermost are the frames of one_place and, once more than
 * `depth`, of deep; the next one is this function's, with another return address for each of its lines. */
static void frames_beyond_the_last_that_counts_do_not(void **state)
{
    (void)state;
    uint64_t last_is_here = deep(SL_SITE_FRAMES - 3, one_place);
    assert_int_not_equal(deep(SL_SITE_FRAMES - 3, one_place), last_is_here);
    uint64_t last_is_deep = deep(SL_SITE_FRAMES - 2, one_place);
    assert_int_equal(deep(SL_SITE_FRAMES - 2, one_place), last_is_deep);
    assert_int_equal(deep(3 * SL_SITE_FRAMES, one_place), last_is_deep);
    assert_int_not_equal(deep(3 * SL_SITE_FRAMES, another_place), last_is_deep);
}

/* Code without unwind information, made at run time: the caller alone is the site. */
static void a_caller_that_is_not_on_the_stack_is_the_site(void **state)
{
    (void)state;
    static const char code[16];
    uint64_t site = sl_site_here(&code[0]);
    assert_int_equal(sl_site_here(&code[0]), site);
    assert_int_not_equal(sl_site_here(&code[8]), site);
}

static void *ask(void *sites)
{
    for (unsigned i = 0; i < 64; i++)
        ((uint64_t *)sites)[i] = deep(i % 16, i & 16 ? one_place : another_place);
    return NULL;
}

/* What is remembered of recent sites is every thread's. */
static void threads_agree(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    static uint64_t sites[THREADS][64];
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) assert_int_equal(pthread_create(&threads[t], NULL, ask, sites[t]), 0);
    for (int t = 0; t < THREADS; t++) assert_int_equal(pthread_join(threads[t], NULL), 0);
    for (int t = 1; t < THREADS; t++) assert_memory_equal(sites[t], sites[0], sizeof(sites[0]));
}

static int by_number(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

/* More stacks than are remembered, and then the first ones again: each is worked out anew, to the same
 * number. */
static void what_is_forgotten_is_found_again(void **state)
{
    (void)state;
    enum { CALLERS = 5000, CALL_BYTES = 5 };
    static const char code[CALLERS * CALL_BYTES];
    static uint64_t sites[CALLERS];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < CALLERS; i++) {
            uint64_t site = sl_site_here(&code[i * CALL_BYTES]);
            if (round == 0) sites[i] = site;
            assert_int_equal(site, sites[i]);
        }
    }
    qsort(sites, CALLERS, sizeof(*sites), by_number);
    for (int i = 1; i < CALLERS; i++) assert_int_not_equal(sites[i], sites[i - 1]);
}

/* The site that another run of this program has here, wherever it and its libraries lie in memory. */
static uint64_t site_of_a_run(void)
{
    char command[512], text[32] = "";
    snprintf(command, sizeof(command), "'%s' site", program);
    FILE *run = popen(command, "r");
    assert_non_null(run);
    assert_non_null(fgets(text, sizeof(text), run));
    assert_int_equal(pclose(run), 0);
    return strtoull(text, NULL, 16);
}

/* Profiles name allocations of another run by their sites. */
static void every_run_has_the_same_sites(void **state)
{
    (void)state;
    uint64_t site = site_of_a_run();
    assert_int_not_equal(site, 0);
    for (int i = 0; i < 3; i++) assert_int_equal(site_of_a_run(), site);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_stack_is_one_site),
        cmocka_unit_test(every_frame_counts),
        cmocka_unit_test(frames_beyond_the_last_that_counts_do_not),
        cmocka_unit_test(a_caller_that_is_not_on_the_stack_is_the_site),
        cmocka_unit_test(threads_agree),
        cmocka_unit_test(what_is_forgotten_is_found_again),
        cmocka_unit_test(every_run_has_the_same_sites),
    };
    program = argv[0];
    if (argc == 2) return printf("%llx\n", (unsigned long long)deep(3, one_place)) < 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
