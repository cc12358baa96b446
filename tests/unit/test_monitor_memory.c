/* What fills the budget is what was allocated: breaks if bytes are counted twice, for another kind or place,
 * or not at all; if a call visits more than its part, however much there is; or if a question is answered
 * twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core_fixture.h"

#define LARGE 48 /* allocations of a chunk each; the budget has room for 32 */
#define SMALL 1500

static const uint32_t offset = 0, size = 8;
static const struct sl_host_kernel kernel = {"sweep", 1, &offset, &size};
static struct sl_stats figures;
static struct sl_scan memory;
static uint64_t now;

static void launch(uint64_t *what)
{
    void *parameters[] = {what};
    core_launch(core_kernel(&kernel, parameters, 8));
}

static void end_unless(bool good, int status)
{
    if (!good) _exit(status);
}

static void step_ends(void)
{
    const struct sl_core *core = sl_core_running();
    sl_scan_step(&memory, core->placement.allocations, core->history.ticks.now);
}

static bool scan(uint64_t asked)
{
    uint64_t before = figures.scanned_ns;
    static uint64_t answered;
    now += 10;
    sl_scan_go_on(&memory, sl_core_running(), asked != answered, now, &figures);
    answered = asked;
    return figures.scanned_ns != before;
}

static bool is(enum sl_kind kind, uint64_t resident, uint64_t host, uint64_t empty)
{
    const struct sl_kind_bytes *k = &figures.kinds[kind];
    return k->resident_bytes == resident && k->host_bytes == host && k->empty_bytes == empty &&
           k->allocated_bytes == resident + host + empty && k->arriving_bytes <= resident;
}

static uint64_t occupied(void)
{
    return atomic_load(&sl_core_running()->migrator.occupied_bytes);
}

/* Of 48 chunks that were used 32 are on the device. */
static void each_byte_has_its_kind_and_place(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    static uint64_t large[LARGE], idle, late, never;
    for (int i = 0; i < LARGE; i++) large[i] = core_take(2 * SL_MIB);
    idle = core_take(2 * SL_MIB);
    launch(&idle);
    for (int i = 0; i < LARGE; i++) launch(&large[i]);
    end_unless(scan(1) && figures.scan_time_ns == 0, 10);
    uint64_t all = (LARGE + 1) * 2 * SL_MIB, resident = figures.kinds[SL_KIND_UNKNOWN].resident_bytes;
    end_unless(is(SL_KIND_UNKNOWN, resident, all - resident, 0), 11); /* no step has ended */
    end_unless(resident + figures.unallocated_bytes == occupied() && resident > 32 * SL_MIB, 12);
    step_ends();
    uint64_t middle = core_take(2 * SL_MIB);
    for (int i = 0; i < LARGE; i++) launch(&large[i]);
    step_ends();
    for (int i = 0; i < 2; i++) launch(&large[i]);
    late = core_take(2 * SL_MIB);
    never = core_take(2 * SL_MIB + 512); /* two chunks, the second in part */
    launch(&late);
    end_unless(middle && never && scan(2), 13);
    end_unless(is(SL_KIND_IDLE, 0, 2 * SL_MIB, 0), 14);
    end_unless(is(SL_KIND_TEMPORARY, 2 * SL_MIB, 0, 4 * SL_MIB + 512), 15);
    resident = figures.kinds[SL_KIND_LASTING].resident_bytes;
    end_unless(is(SL_KIND_LASTING, resident, LARGE * 2 * SL_MIB - resident, 0), 16);
    end_unless(is(SL_KIND_UNKNOWN, 0, 0, 0) && is(SL_KIND_PINNED, 0, 0, 0), 17);
    end_unless(resident + 2 * SL_MIB + figures.unallocated_bytes == occupied(), 18);
    end_unless(!scan(2), 19);
    core_end_child(true);
}

/* Dead memory that still has its frame is in no allocation. */
static void what_is_freed_is_unused(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t one = core_take(2 * SL_MIB), other = core_take(2 * SL_MIB);
    launch(&one);
    launch(&other);
    end_unless(scan(1) && figures.unallocated_bytes == 0, 20);
    end_unless(is(SL_KIND_UNKNOWN, 4 * SL_MIB, 0, 0), 21);
    end_unless(sl_runtime_free(one, &(struct sl_allocation){0}) == SL_OK, 24);
    end_unless(scan(2) && is(SL_KIND_UNKNOWN, 2 * SL_MIB, 0, 0), 22);
    end_unless(figures.unallocated_bytes == 2 * SL_MIB, 23);
    core_end_child(true);
}

static void pinned_memory_is_on_the_host(void **state)
{
    (void)state;
    setenv("SLUICE_BACKING", "from:1M=pinned", 1);
    if (core_in_child("inline")) {
        uint64_t one = core_take(2 * SL_MIB);
        launch(&one);
        end_unless(sl_core_running()->placement.pinned_live_bytes == 2 * SL_MIB, 30);
        end_unless(scan(1) && is(SL_KIND_PINNED, 0, 2 * SL_MIB, 0) && figures.unallocated_bytes == 0, 31);
        core_end_child(true);
    }
    unsetenv("SLUICE_BACKING");
}

/* Many allocations take many calls; a large one is visited in parts as well. */
static void a_call_visits_only_so_much(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    for (int i = 0; i < SMALL; i++) core_take(SL_KIB);
    end_unless(core_take(300 * 2 * SL_MIB), 40); /* 300 chunks */
    uint64_t work = SMALL * (1 + SL_SCAN_PART) + 1 + 300 * SL_SCAN_PART;
    uint64_t calls = 1;
    while (!scan(1)) end_unless(++calls < 100, 41);
    end_unless(calls >= work / SL_SCAN_WORK && calls <= work / (SL_SCAN_WORK - 2 * SL_SCAN_PART) + 1, 42);
    end_unless(figures.kinds[SL_KIND_UNKNOWN].allocated_bytes == SMALL * SL_KIB + 600 * SL_MIB, 43);
    core_end_child(true);
}

static void slots_without_an_allocation_count(void **state)
{
    (void)state;
    static uint64_t gone[SL_SCAN_WORK];
    if (!core_in_child("inline")) return;
    for (int i = 0; i < SL_SCAN_WORK; i++) gone[i] = core_take(SL_KIB);
    for (int i = 0; i < SL_SCAN_WORK; i++)
        end_unless(sl_runtime_free(gone[i], &(struct sl_allocation){0}) == SL_OK, 60);
    end_unless(sl_core_running()->placement.slot_count == SL_SCAN_WORK, 61);
    end_unless(!scan(1) && scan(1), 62);
    end_unless(is(SL_KIND_UNKNOWN, 0, 0, 0), 63);
    core_end_child(true);
}

/* The slot of an allocation that was visited in part gets another one, of which nothing is counted. */
static void an_allocation_that_goes_meanwhile(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t large = core_take_at(1, 1200 * SL_MIB), visited = (SL_SCAN_WORK - 1) / SL_SCAN_PART;
    uint32_t slots = sl_core_running()->placement.slot_count;
    end_unless(!scan(1) && memory.offset == visited * 2 * SL_MIB, 50);
    end_unless(sl_runtime_free(large, &(struct sl_allocation){0}) == SL_OK, 51);
    core_take_at(1, 1200 * SL_MIB);
    end_unless(sl_core_running()->placement.slot_count == slots, 52);
    end_unless(scan(1) && figures.scan_time_ns == 10, 53);
    end_unless(figures.kinds[SL_KIND_UNKNOWN].allocated_bytes == visited * 2 * SL_MIB, 54);
    end_unless(!scan(2) && scan(2), 55);
    end_unless(figures.kinds[SL_KIND_UNKNOWN].allocated_bytes == 1200 * SL_MIB, 56);
    core_end_child(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_byte_has_its_kind_and_place),
        cmocka_unit_test(what_is_freed_is_unused),
        cmocka_unit_test(pinned_memory_is_on_the_host),
        cmocka_unit_test(a_call_visits_only_so_much),
        cmocka_unit_test(slots_without_an_allocation_count),
        cmocka_unit_test(an_allocation_that_goes_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
