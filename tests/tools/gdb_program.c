/* A program with a core whose parts are known, for gdb to stop in: see test_gdb.py. */
#include <stdio.h>
#include <stdlib.h>

#include "core/core.h"
#include "core/runtime.h"
#include "move/steps.h"
#include "tests/host/backend_host.h"

#define CHUNK (2 * SL_MIB)

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel kernel = {"kernel", 1, offsets, sizes};

/* What gdb is asked to print. */
struct sl_core *core;
struct sl_event move = {.type = SL_EVENT_MOVE, .flags = 2, .id = 3, .tick = 7, .a = CHUNK},
                mark = {.type = SL_EVENT_MARK, .id = 1, .tick = 8, .c = 1, .text = "step"},
                none = {.type = 200};

void stop_here(void);
__attribute__((noinline)) void stop_here(void)
{
    __asm__ volatile("");
}

static uint64_t take(uint64_t bytes, uint64_t site)
{
    uint64_t address;
    if (sl_runtime_alloc(bytes, site, 0, NULL, &address)) exit(1);
    return address;
}

static void use(uint64_t address, sl_stream stream)
{
    void *parameters[] = {&address};
    struct sl_launch launch = {.kind = SL_LAUNCH_KERNEL,
                               .function = (uint64_t)&kernel,
                               .grid = {1, 1, 1},
                               .block = {32, 1, 1},
                               .stream = stream,
                               .parameters = parameters};
    sl_runtime_launch_begin(&launch);
    sl_runtime_launch_end(&launch, true);
}

static void evict(sl_chunk c)
{
    sl_lock(&core->migrator.out.lock);
    sl_migrator_evict(&core->migrator, c, NULL, SL_CAUSE_DEMAND);
    sl_unlock(&core->migrator.out.lock);
}

/* One chunk leaves behind the next launch, and one that left comes in its frame. */
static void carry_out(sl_chunk leaves, sl_chunk comes)
{
    uint64_t bytes[64];
    struct sl_steps steps;
    sl_tick first = core->history.ticks.now + 1;
    for (int c = 0; c < 64; c++) bytes[c] = CHUNK;
    struct sl_plan_action actions[] = {{SL_ACTION_EVICT, leaves, first, first + 2, SL_NONE},
                                       {SL_ACTION_POPULATE, comes, first, first + 2, 0},
                                       {SL_ACTION_FETCH, leaves, first + 1, first + 3, 0}};
    struct sl_plan plan = {.actions = actions, .action_count = 3};
    struct sl_plan_input input = {
        .first_tick = first, .launch_count = 4, .chunk_bytes = bytes, .budget_bytes = 32 * SL_MIB};
    if (sl_steps_new(&plan, &input, 3, 0, &steps)) exit(1);
    sl_migrator_lock(&core->migrator);
    sl_schedule_take(&core->schedule, &steps);
    sl_migrator_unlock(&core->migrator);
    sl_steps_free(&steps);
}

int main(void)
{
    struct sl_backend backend;
    setenv("SLUICE_POLICY", "plan", 1);
    setenv("SLUICE_DAEMON", "inline", 1);
    setenv("SLUICE_DEVICE_BUDGET", "32M", 1);
    setenv("SLUICE_CHUNK", "2M", 1);
    setenv("SLUICE_BACKING", "site:4=pinned", 1);
    sl_runtime_load();
    if (sl_backend_host_new(SL_GIB, &backend) || sl_runtime_start(&backend)) return 1;
    core = sl_core_running();
    uint64_t one = take(CHUNK, 1), large = take(2 * CHUNK + SL_MIB, 2), freed = take(300 * SL_KIB, 3);
    take(SL_MIB, 4);
    take(64 * SL_KIB, 5);
    use(one, NULL);
    use(large, (sl_stream)16);
    use(large + 4096, (sl_stream)16);
    use(freed, NULL);
    evict(sl_arena_chunk(&core->arena, large) + 1);
    sl_runtime_free(freed, NULL);
    carry_out(sl_arena_chunk(&core->arena, one), sl_arena_chunk(&core->arena, large) + 1);
    core->budget.charged_bytes = SL_MIB;
    stop_here();
    return 0;
}
