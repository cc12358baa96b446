#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "base/map.h"
#include "base/options.h"
#include "base/test_hooks.h"

#define LONGEST_NS 4000000

enum mood { NEVER, YIELDS, SELDOM, OFTEN, MOODS };

/* In the mood SELDOM or OFTEN, one visit in this many sleeps: sluice's threads sleep more often than the
 * program's. */
static const struct {
    uint32_t seldom, often;
} rates[SL_DELAY_PLACES] = {
    [SL_DELAY_NEWS] = {64, 4},
    [SL_DELAY_STOPPED] = {4, 1},
    [SL_DELAY_PEEK] = {64, 4},
    [SL_DELAY_ISSUE] = {64, 4},
    [SL_DELAY_PLAN] = {8, 1},
    [SL_DELAY_PLAN_SWITCH] = {8, 2},
    [SL_DELAY_LAUNCH_BEGUN] = {2048, 64},
    [SL_DELAY_LAUNCH_GIVEN] = {2048, 64},
    [SL_DELAY_ALLOC] = {512, 32},
    [SL_DELAY_ALLOCATED] = {512, 32},
    [SL_DELAY_FREE] = {512, 32},
    [SL_DELAY_POINTS] = {512, 32},
    [SL_DELAY_RECORD] = {64, 4},
    [SL_DELAY_HELD_BACK] = {64, 4},
    [SL_DELAY_CAPTURE_BEGUN] = {64, 4},
    [SL_DELAY_FREED] = {512, 32},
    [SL_DELAY_PYTHON] = {64, 4},
    [SL_DELAY_LANDING] = {64, 4},
    [SL_DELAY_SLEEP] = {64, 4},
};

static void sleep_ns(uint64_t ns)
{
    nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

void (*sl_test_delay_hook)(enum sl_delay_place place);

void sl_test_delay(enum sl_delay_place place)
{
    static _Atomic uint64_t visits[SL_DELAY_PLACES];
    if (sl_test_delay_hook) sl_test_delay_hook(place);
    uint64_t seed = (uint64_t)sl_options_in_force()->test_delay;
    if (!seed) return;
    uint64_t dice = sl_hash_word(sl_hash_word(seed, place), 1 + atomic_fetch_add(&visits[place], 1));
    switch ((enum mood)(sl_hash_word(seed, place) % MOODS)) {
    case YIELDS:
        if (dice % 2) sched_yield();
        break;
    case SELDOM: /* and long */
        if (dice % rates[place].seldom == 0) sleep_ns((dice >> 32) % LONGEST_NS);
        break;
    case OFTEN: /* and short */
        if (dice % rates[place].often == 0) sleep_ns((dice >> 32) % (LONGEST_NS / 16));
        break;
    default:
        break;
    }
}
