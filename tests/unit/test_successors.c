/* Successor prefetch, where nothing is planned: a mixture of experts in small. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/demand.h"
#include "core/feed.h"
#include "core_fixture.h"
#include "predict/successors.h"

#define CHUNK (2 * SL_MIB)
enum { EXPERTS = 16, TAKEN = 4, STEPS = 100, OTHERS = 12 };

static const uint32_t offsets[] = {0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88},
                      sizes[] = {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8};
static const struct sl_host_kernel forward = {"forward", 1, offsets, sizes},
                                   backward = {"backward", 1, offsets, sizes},
                                   update = {"update", 3, offsets, sizes},
                                   idle = {"pause", 1, offsets, sizes},
                                   wide = {"wide", OTHERS, offsets, sizes};

static uint64_t parameter[EXPERTS], moment[EXPERTS], other[OTHERS];
static uint32_t state = 1;

static uint32_t chance(uint32_t below)
{
    state = state * 1664525 + 1013904223;
    return (state >> 16) % below;
}

/* A core with room for sixteen chunks, in a child: there is one core in a process. True there. */
static bool in_child(void)
{
    setenv("SLUICE_DEVICE_BUDGET", "32M", 1);
    setenv("SLUICE_CHUNK", "2M", 1);
    core_say_nothing = true;
    if (!core_in_child("inline")) return false;
    for (int e = 0; e < EXPERTS; e++) parameter[e] = core_take(CHUNK);
    for (int e = 0; e < EXPERTS; e++) moment[e] = core_take(CHUNK);
    for (int i = 0; i < OTHERS; i++) other[i] = core_take(CHUNK);
    return true;
}

static void use(const struct sl_host_kernel *kernel, uint64_t tensor)
{
    void *parameters[] = {&tensor};
    core_launch(core_kernel(kernel, parameters, 1));
}

static void use_all_others(void)
{
    void *parameters[OTHERS];
    for (int i = 0; i < OTHERS; i++) parameters[i] = &other[i];
    core_launch(core_kernel(&wide, parameters, 1));
}

/* With a tensor that is another one each time. */
static void update_expert(int e)
{
    void *parameters[] = {&parameter[e], &moment[e], &other[chance(OTHERS)]};
    core_launch(core_kernel(&update, parameters, 1));
}

static void rest(void)
{
    for (int i = 0; i < 32; i++) use(&idle, other[0]);
}

/* What had a deadline of that is over at the end. */
static void train(void)
{
    for (int step = 0; step < STEPS; step++) {
        int taken[TAKEN], count = 0;
        for (int e = 0; e < EXPERTS; e++)
            if (chance((uint32_t)(EXPERTS - e)) < (uint32_t)(TAKEN - count)) taken[count++] = e;
        for (int i = 0; i < TAKEN; i++) use(&forward, parameter[taken[i]]);
        for (int i = TAKEN; i-- > 0;) use(&backward, parameter[taken[i]]);
        for (int i = TAKEN; i-- > 0;) update_expert(taken[i]);
    }
    rest();
}

/* So that what a test does is not predicted. */
static void disturb(void)
{
    for (uint32_t i = 0; i <= chance(3); i++) use(&idle, parameter[chance(EXPERTS)]);
}

static struct sl_chunk_record *record_of(uint64_t address)
{
    const struct sl_core *core = sl_core_running();
    return sl_arena_record(&core->arena, sl_arena_chunk(&core->arena, address));
}

static bool has_deadline(uint64_t address)
{
    return record_of(address)->deadline > sl_core_running()->history.ticks.now;
}

static bool is_resident(uint64_t address)
{
    return sl_chunk_is_resident(record_of(address));
}

/* An expert whose moment is not on the device, from `e` on. */
static int absent(int e)
{
    while (is_resident(moment[e])) assert_in_range(++e, 0, EXPERTS - 1);
    return e;
}

static void bring(uint64_t idle_bytes)
{
    struct sl_core *core = sl_core_running();
    uint64_t speed = core->migrator.link_in_bytes_per_s;
    core->migrator.link_in_bytes_per_s = 0; /* however long the launch takes */
    core->demand.idle_bytes = idle_bytes;
    sl_demand_prefetch_successors(&core->demand);
    core->migrator.link_in_bytes_per_s = speed;
}

static void what_was_taken_is_due_again(void **unused)
{
    (void)unused;
    if (!in_child()) return;
    train();
    use(&forward, parameter[3]);
    bool good = true;
    for (int e = 0; e < EXPERTS; e++)
        good &= has_deadline(parameter[e]) == (e == 3) && has_deadline(moment[e]) == (e == 3);
    for (int i = 0; i < OTHERS; i++) good &= record_of(other[i])->deadline != record_of(moment[3])->deadline;
    core_end_child(good);
}

/* Slots and symbols are numbered anew then. */
static void what_is_forgotten_is_learned_anew(void **unused)
{
    (void)unused;
    if (!in_child()) return;
    struct sl_core *core = sl_core_running();
    train();
    use(&forward, parameter[3]);
    bool needed = sl_successors_are_needed(core->demand.successors, UINT64_MAX);
    sl_lock(&core->order);
    sl_core_forget(core);
    sl_unlock(&core->order);
    core_end_child(needed && !sl_successors_are_needed(core->demand.successors, UINT64_MAX));
}

/* From now on a launch leaves the link no time, however long it takes on this machine. */
static void keep_link_busy(void)
{
    struct sl_core *core = sl_core_running();
    core->migrator.link_in_bytes_per_s = 0;
    core->demand.idle_bytes = 0;
}

/* Between forward and update there are five to eleven launches, between backward and update four. */
static void the_earliest_comes_first(void **unused)
{
    (void)unused;
    if (!in_child()) return;
    train();
    int late = absent(0), early;
    for (;; late = absent(late + 1)) {
        keep_link_busy();
        use(&forward, parameter[late]);
        if (record_of(moment[late])->deadline > sl_core_running()->history.ticks.now + 5) break;
        rest();
    }
    early = absent(late + 1);
    keep_link_busy();
    use(&backward, parameter[early]);
    bool good = !is_resident(moment[early]) && !is_resident(moment[late]);
    bring(CHUNK - 1);
    good &= !is_resident(moment[early]) && !is_resident(moment[late]);
    bring(CHUNK);
    good &= is_resident(moment[early]) && !is_resident(moment[late]);
    bring(CHUNK);
    core_end_child(good && is_resident(moment[late]));
}

static void what_is_due_leaves_last(void **unused)
{
    (void)unused;
    if (!in_child()) return;
    train();
    int e = absent(0);
    use(&forward, parameter[e]);
    bring(CHUNK);
    bool good = is_resident(moment[e]);
    for (int i = 0; i < 2; i++) use(&idle, other[0]);
    use_all_others();
    core_end_child(good && is_resident(parameter[e]) && is_resident(moment[e]));
}

/* More is to be prefetched than there is room for, and all that is there has an earlier deadline. */
static void what_is_due_sooner_stays(void **unused)
{
    (void)unused;
    if (!in_child()) return;
    train();
    bool resident[64], good = true;
    int absent_before = 0, absent_after = 0;
    struct sl_core *core = sl_core_running();
    for (int e = 0; e < EXPERTS; e++)
        if (!is_resident(moment[e]) && absent_before++ < 6) use(&forward, parameter[e]);
    size_t chunks = sl_arena_chunk_count(&core->arena);
    for (size_t c = 0; c < chunks && c < 64; c++) {
        resident[c] = sl_chunk_is_resident(sl_arena_record(&core->arena, (sl_chunk)c));
        sl_arena_record(&core->arena, (sl_chunk)c)->deadline = core->history.ticks.now + 1;
    }
    for (int i = 0; i < 4; i++) bring(4 * CHUNK);
    for (size_t c = 0; c < chunks && c < 64; c++)
        good &= !resident[c] || sl_chunk_is_resident(sl_arena_record(&core->arena, (sl_chunk)c));
    for (int e = 0; e < EXPERTS; e++) absent_after += !is_resident(moment[e]);
    core_end_child(good && absent_after > absent_before - 6);
}

/* What comes behind `forward` in round `i`. */
typedef void (*follow)(uint64_t tensor, int i);

static void same_kernel(uint64_t tensor, int i)
{
    (void)i;
    use(&backward, tensor);
}

static void one_of_two(uint64_t tensor, int i)
{
    use(i % 2 ? &backward : &idle, tensor);
}

static void at_any_time(uint64_t tensor, int i)
{
    for (int k = 0; k < (i % 2 ? 20 : 2); k++) disturb();
    use(&backward, tensor);
}

static void check_follower(follow follower, bool expected)
{
    if (!in_child()) return;
    train();
    for (int i = 0; i < 20; i++) {
        use(&forward, other[1]);
        follower(other[1], i);
        disturb();
    }
    rest();
    use(&forward, other[1]);
    core_end_child(has_deadline(other[1]) == expected);
}

static void only_what_surely_follows_is_due(void **unused)
{
    (void)unused;
    check_follower(same_kernel, true);
    check_follower(one_of_two, false);
    check_follower(at_any_time, false);
}

/* What stands at the same address is another tensor. */
static void memory_that_was_freed_is_not_due(void **unused)
{
    (void)unused;
    if (!in_child()) return;
    train();
    uint64_t address = 0;
    for (int i = 0; i < 20; i++) {
        address = core_take_at(7, CHUNK);
        use(&forward, address);
        sl_runtime_free(address, NULL);
        address = core_take_at(7, CHUNK);
        use(&backward, address);
        sl_runtime_free(address, NULL);
        disturb();
    }
    rest();
    address = core_take_at(7, CHUNK);
    use(&forward, address);
    core_end_child(!has_deadline(address));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_taken_is_due_again),
        cmocka_unit_test(what_is_forgotten_is_learned_anew),
        cmocka_unit_test(the_earliest_comes_first),
        cmocka_unit_test(what_is_due_leaves_last),
        cmocka_unit_test(what_is_due_sooner_stays),
        cmocka_unit_test(only_what_surely_follows_is_due),
        cmocka_unit_test(memory_that_was_freed_is_not_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
