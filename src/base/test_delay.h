/* Random delays at named places, so that tests see a late daemon, a late plan and threads that are delayed
 * between two steps, on any machine. Only in objects compiled with SLUICE_TEST_HOOKS, with the seed
 * SLUICE_TEST_DELAY; no cost in all others. */
#ifndef SLUICE_TEST_DELAY_H
#define SLUICE_TEST_DELAY_H

enum sl_delay_place {
    SL_DELAY_PEEK,         /* before the daemon looks for its next step */
    SL_DELAY_ISSUE,        /* before the daemon issues a step whose waits are over */
    SL_DELAY_PLAN,         /* after the planner's thread made a plan, before anybody knows */
    SL_DELAY_PLAN_SWITCH,  /* before a plan takes over */
    SL_DELAY_LAUNCH_BEGUN, /* before the driver gets the launch */
    SL_DELAY_LAUNCH_GIVEN, /* after that, before the core knows */
    SL_DELAY_ALLOC,
    SL_DELAY_ALLOCATED, /* after memory is given out, before any stream waits for its earlier users */
    SL_DELAY_FREE,
    SL_DELAY_POINTS,        /* after the points of a free are recorded, before the memory counts as free */
    SL_DELAY_FREED,         /* after that, before its chunks are discarded */
    SL_DELAY_RECORD,        /* before streams that do not capture get the points of a free */
    SL_DELAY_HELD_BACK,     /* where a free waits until a capture has begun */
    SL_DELAY_CAPTURE_BEGUN, /* after a stream began to capture */
    SL_DELAY_PLACES
};

#ifdef SLUICE_TEST_HOOKS
/* Mostly returns at once; else yields, or sleeps for a few milliseconds at most. The seed, the place and the
 * number of visits determine the action. Thread-safe. */
void sl_test_delay(enum sl_delay_place place);
/* If set, called at each place; simulates other threads' actions in between. */
extern void (*sl_test_delay_hook)(enum sl_delay_place place);
#define SL_TEST_DELAY(place) sl_test_delay(SL_DELAY_##place)
#else
#define SL_TEST_DELAY(place) ((void)0)
#endif

#endif
