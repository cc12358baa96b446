/* Writes the trace that tests/golden/v2.slt holds: a short invented program with every type of record, names
 * that need care, and a free that is written before an earlier allocation of another thread. */
#include <stdio.h>
#include <stdlib.h>

#include "core/runtime.h"
#include "plan/plan.h"
#include "trace_file.h"

#define MOVE(kind, cause) SL_ACTION_##kind | SL_CAUSE_##cause << 4

static const struct sl_event events[] = {
    /* thread 1 */
    {.type = SL_EVENT_BUDGET, .time_ns = 1000, .a = 64 * SL_MIB, .b = 2 * SL_MIB, .c = SL_GIB},
    {.type = SL_EVENT_ALLOC,
     .id = 0,
     .time_ns = 2000,
     .a = 0x7f0040000000,
     .b = 40 * SL_MIB,
     .c = 0xfeedface12345678},
    {.type = SL_EVENT_ALLOC,
     .id = 1,
     .time_ns = 3000,
     .a = 0x7f0042800000,
     .b = 40 * SL_MIB,
     .c = 0xfeedface12345678},
    {.type = SL_EVENT_LAUNCH, .flags = SL_LAUNCH_COPY, .tick = 1, .time_ns = 4000, .c = 40 * SL_MIB},
    {.type = SL_EVENT_ACCESS, .id = 0, .tick = 1, .time_ns = 4000, .b = 40 * SL_MIB},
    {.type = SL_EVENT_KERNEL, .id = 1, .time_ns = 5000, .text = "matmul(float const*, float*)"},
    {.type = SL_EVENT_LAUNCH, .id = 1, .tick = 2, .time_ns = 5000, .a = 0x55aa, .b = 1048576},
    {.type = SL_EVENT_ACCESS, .id = 0, .tick = 2, .time_ns = 5000, .b = 20 * SL_MIB},
    {.type = SL_EVENT_ACCESS, .id = 1, .tick = 2, .time_ns = 5000, .a = 512, .b = 4096},
    {.type = SL_EVENT_STALL, .tick = 2, .time_ns = 905000, .a = 900000, .b = 3},
    /* thread 2 */
    {.type = SL_EVENT_MOVE,
     .flags = MOVE(FETCH, DEMAND),
     .id = 0,
     .tick = 2,
     .time_ns = 6000,
     .a = 2 * SL_MIB},
    {.type = SL_EVENT_MOVE, .flags = MOVE(FETCH, LATE), .id = 1, .tick = 2, .time_ns = 7000, .a = 2 * SL_MIB},
    {.type = SL_EVENT_MOVE,
     .flags = MOVE(POPULATE, DEMAND),
     .id = 2,
     .tick = 2,
     .time_ns = 8000,
     .a = 2 * SL_MIB},
    {.type = SL_EVENT_MOVE, .flags = MOVE(FETCH, PLAN), .id = 3, .tick = 3, .time_ns = 910000, .a = SL_MIB},
    {.type = SL_EVENT_MOVE,
     .flags = MOVE(EVICT, PLAN),
     .id = 0,
     .tick = 3,
     .time_ns = 911000,
     .a = 2 * SL_MIB},
    {.type = SL_EVENT_MOVE,
     .flags = MOVE(DISCARD, PLAN),
     .id = 2,
     .tick = 3,
     .time_ns = 912000,
     .a = 2 * SL_MIB},
    {.type = SL_EVENT_FREE, .id = 2, .tick = 4, .time_ns = 990000, .a = 0x7f0045000000, .b = 4096},
    {.type = SL_EVENT_GAP, .tick = 3, .time_ns = 991000, .a = 12},
    {.type = SL_EVENT_KERNEL, .id = 2, .time_ns = 992000, .text = "\"q\\\t\xc3\xa9\xff"},
    {.type = SL_EVENT_LAUNCH, .id = 2, .tick = 3, .time_ns = 992000, .b = 32},
    /* thread 1 */
    {.type = SL_EVENT_ALLOC, .id = 2, .tick = 3, .time_ns = 980000, .a = 0x7f0045000000, .b = 4096, .c = 5},
    {.type = SL_EVENT_LAUNCH,
     .flags = SL_LAUNCH_MEMSET,
     .tick = 4,
     .time_ns = 993000,
     .a = 0x55aa,
     .c = 4096},
    {.type = SL_EVENT_LAUNCH, .flags = SL_LAUNCH_GRAPH, .tick = 5, .time_ns = 994000, .a = 0x55aa},
    {.type = SL_EVENT_LAUNCH,
     .flags = SL_LAUNCH_COLLECTIVE,
     .tick = 6,
     .time_ns = 995000,
     .a = 0x55aa,
     .c = SL_MIB},
    {.type = SL_EVENT_STALL, .tick = 6, .time_ns = 996000, .a = 1000, .b = 1},
    {.type = SL_EVENT_ITERATION, .id = 1, .tick = 6, .time_ns = 1000000, .a = 9},
    {.type = SL_EVENT_ITERATION, .id = 2, .tick = 6, .time_ns = 2000001000, .a = 10},
    {.type = SL_EVENT_FREE, .id = 1, .tick = 6, .time_ns = 2000001000, .a = 0x7f0042800000, .b = 40 * SL_MIB},
};

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    struct trace_bytes trace = trace_build(events, sizeof(events) / sizeof(*events), 10, true);
    FILE *file = fopen(argv[1], "wb");
    bool good = file && fwrite(trace.bytes, 1, trace.size, file) == trace.size;
    free(trace.bytes);
    return file && fclose(file) == 0 && good ? 0 : 1;
}
