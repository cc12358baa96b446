/* A trace whose file goes round: breaks if the end of a long program names kernels, accesses or allocations
 * that only its lost middle told of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core_fixture.h"
#include "trace/trace_write.h"
#include "trace_file.h"

#define TENSORS 100
#define LAUNCHES 1500000

static const uint32_t offsets[] = {0, 8}, sizes[] = {8, 8};
static const struct sl_host_kernel kernels[] = {{"even", 2, offsets, sizes}, {"odd", 2, offsets, sizes}};
static char path[] = "/tmp/sluice-record-XXXXXX";

static int start(void **state)
{
    int fd = mkstemp(path);
    if (fd < 0) return -1;
    close(fd);
    setenv("SLUICE_TRACE", path, 1);
    setenv("SLUICE_TRACE_LIMIT", "1M", 1);
    setenv("SLUICE_TRACE_FULL", "wait", 1);
    return core_start(state);
}

static int stop(void **state)
{
    (void)state;
    return unlink(path);
}

/* What has been told of up to a place in the file. */
struct told {
    bool kernels[3], slots[TENSORS];
    uint8_t *accesses; /* of the launch of each tick */
};

static void note(struct told *told, const struct sl_event *event)
{
    if (event->type == SL_EVENT_KERNEL && event->id < 3) told->kernels[event->id] = true;
    if (event->type == SL_EVENT_ALLOC && event->id < TENSORS) told->slots[event->id] = true;
    if (event->type == SL_EVENT_ACCESS && event->tick <= LAUNCHES) told->accesses[event->tick]++;
}

static void the_end_can_be_understood(void **state)
{
    (void)state;
    uint64_t tensors[TENSORS];
    for (int i = 0; i < TENSORS; i++) tensors[i] = core_take(4096);
    uint64_t noise = 1; /* or the compressor would make the file too small to go round */
    for (int i = 0; i < LAUNCHES; i++) {
        noise = noise * 6364136223846793005 + 1442695040888963407;
        void *parameters[] = {&tensors[i % TENSORS], &tensors[i * 7 % TENSORS]};
        core_launch(core_kernel(&kernels[i % 2], parameters, 1 + (uint32_t)(noise >> 60)));
    }
    core_stop(NULL);

    struct trace_content content = trace_read_file(path);
    assert_int_equal(content.problem.status, SL_OK);
    size_t gap = 0;
    while (gap < content.count && content.records[gap].event.type != SL_EVENT_GAP) gap++;
    assert_in_range(gap, 1, content.count - 1);
    struct told told = {.accesses = calloc(LAUNCHES + 1, 1)};
    assert_non_null(told.accesses);
    size_t launches = 0, unknown = 0;
    for (size_t i = gap + 1; i < content.count; i++) note(&told, &content.records[i].event);
    for (size_t i = gap + 1; i < content.count; i++) {
        const struct sl_event *event = &content.records[i].event;
        if (event->type != SL_EVENT_LAUNCH) continue;
        launches++;
        uint64_t tick = event->d ? event->d : event->tick;
        if (!told.kernels[event->id] || told.accesses[tick] != 1 + (event->tick * 6 % TENSORS != 6))
            unknown++;
    }
    for (int i = 0; i < TENSORS; i++) assert_true(told.slots[i]);
    /* But for those that were on their way when the first of these segments began: two rings full. */
    assert_true(launches > 4 * SL_RING_SLOTS);
    assert_true(unknown < 3 * SL_RING_SLOTS);
    free(told.accesses);
    trace_content_free(&content);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_end_can_be_understood)};
    return cmocka_run_group_tests(tests, start, stop);
}
