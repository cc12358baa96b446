/* Threads that allocate through many call stacks, the same in each: the trace has each stack once, and before
 * every allocation that was made through it. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/map.h"
#include "core_fixture.h"
#include "trace_file.h"

#define THREADS 4
#define DEPTH 9
#define STACKS (1 << DEPTH)
#define ROUNDS 3

static char path[64];

static __attribute__((noinline)) void take(void)
{
    uint64_t address;
    uint64_t site = sl_site_here(__builtin_return_address(0));
    if (sl_runtime_alloc(4096, site, 0, NULL, &address) != SL_OK || sl_runtime_free(address, NULL) != SL_OK)
        abort();
}

/* Each bit of `way` decides which of two calls the next frame returns to. The lines of assembly keep them
 * two, and from being the last thing that is done. */
static __attribute__((noinline)) void descend(unsigned way, unsigned depth)
{
    if (!depth) {
        take();
        __asm__ volatile("# took");
    } else if (way & 1) {
        descend(way >> 1, depth - 1);
        __asm__ volatile("# odd");
    } else {
        descend(way >> 1, depth - 1);
        __asm__ volatile("# even");
    }
}

static void *allocate_everywhere(void *argument)
{
    for (int round = 0; round < ROUNDS; round++)
        for (unsigned i = 0; i < STACKS; i++) descend(i, DEPTH);
    return argument;
}

static int start(void **state)
{
    snprintf(path, sizeof path, "/tmp/sluice-sites-%d", (int)getpid());
    setenv("SLUICE_TRACE", path, 1);
    setenv("SLUICE_TRACE_FULL", "wait", 1);
    return core_start(state);
}

static void each_stack_is_told_once_and_first(void **state)
{
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, allocate_everywhere, NULL), 0);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    core_stop(state);
    struct trace_content content = trace_read_file(path);
    unlink(path);
    assert_int_equal(content.problem.status, SL_OK);
    struct sl_map told = {0};
    uint32_t sites = 0, allocations = 0;
    for (size_t i = 0; i < content.count; i++) {
        const struct sl_event *event = &content.records[i].event;
        if (event->type != SL_EVENT_SITE) continue;
        assert_int_equal(sl_map_get(&told, event->c), SL_NONE);
        assert_true(sl_map_put(&told, event->c, (uint32_t)i));
        sites++;
    }
    for (size_t i = 0; i < content.count; i++) {
        const struct sl_event *event = &content.records[i].event;
        if (event->type != SL_EVENT_ALLOC) continue;
        uint32_t site = sl_map_get(&told, event->c);
        assert_int_not_equal(site, SL_NONE);
        assert_true(content.records[site].event.time_ns <= event->time_ns);
        allocations++;
    }
    assert_int_equal(allocations, THREADS * ROUNDS * STACKS);
    assert_int_equal(sites, STACKS);
    sl_map_free(&told);
    trace_content_free(&content);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_stack_is_told_once_and_first)};
    return cmocka_run_group_tests(tests, start, NULL);
}
