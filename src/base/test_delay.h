/* Delays by chance at named places, so that tests meet a late daemon, a late plan and threads that are held
 * up between two steps, whatever the machine does. Only in objects that are compiled with SLUICE_TEST_HOOKS,
 * by the seed SLUICE_TEST_DELAY; in all others nothing is left of them. */
#ifndef SLUICE_TEST_DELAY_H
#define SLUICE_TEST_DELAY_H

enum sl_delay_place {
    SL_DELAY_PEEK,         /* the daemon is about to look for its next step */
    SL_DELAY_ISSUE,        /* what the step waits for has come; the daemon is about to issue it */
    SL_DELAY_PLAN,         /* the planner's thread has made a plan, and nobody knows yet */
    SL_DELAY_PLAN_SWITCH,  /* a plan is about to take over */
    SL_DELAY_LAUNCH_BEGUN, /* the driver is about to be given the launch */
    SL_DELAY_LAUNCH_GIVEN, /* it was; the core does not know yet */
    SL_DELAY_ALLOC,
    SL_DELAY_ALLOCATED, /* memory is given out; nobody waits yet for what others still do with it */
    SL_DELAY_FREE,
    SL_DELAY_POINTS,        /* the points of a free are recorded, and it is not known to be free */
    SL_DELAY_FREED,         /* it is, and its chunks were not discarded */
    SL_DELAY_RECORD,        /* streams that do not capture are about to be given the points of a free */
    SL_DELAY_CAPTURE_BEGUN, /* a stream captures, and the core does not know yet */
    SL_DELAY_PLACES
};

#ifdef SLUICE_TEST_HOOKS
/* Mostly returns at once; else yields, or sleeps for some milliseconds at most. What a place does is drawn
 * from the seed, the place, and how often it was come to. Thread-safe. */
void sl_test_delay(enum sl_delay_place place);
/* Called at each place where it is set: what another thread may do meanwhile. */
extern void (*sl_test_delay_hook)(enum sl_delay_place place);
#define SL_TEST_DELAY(place) sl_test_delay(SL_DELAY_##place)
#else
#define SL_TEST_DELAY(place) ((void)0)
#endif

#endif
