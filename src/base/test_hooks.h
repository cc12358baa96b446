/* What tests may do to the core: leave out a guard or a mechanism, delay threads at named places, make plans
 * wrong. Only objects compiled with SLUICE_TEST_HOOKS can (tests/hooks has the functions); in all others
 * these macros cost nothing. */
#ifndef SLUICE_TEST_HOOKS_H
#define SLUICE_TEST_HOOKS_H

#include <stdbool.h>

/* The waits and checks that keep data correct, each with a name. SLUICE_TEST_MUTANT leaves one out, to show
 * that a test fails without it; docs/testing.md lists the tests that fail without each. */
#define SL_GUARDS(X)                                                                                         \
    X(POINT_OF_FREE)          /* a free records its point */                                                 \
    X(OPEN_POINT_IS_RECORDED) /* later, but before anybody waits for it */                                   \
    X(POINT_BEFORE_GIVEN)     /* before the memory can be given out again */                                 \
    X(STREAM_WAITS)           /* cuMemAllocAsync's stream waits for the points of other streams */           \
    X(STREAM_WAITS_DISCARD)   /* and for the discard of the chunk */                                         \
    X(ALL_WAIT)               /* after cuMemAlloc every stream waits for the points */                       \
    X(ALL_WAIT_DISCARD)       /* and for the discard */                                                      \
    X(JOINED_AFTER_WAIT)      /* and counts as waiting only once it does */                                  \
    X(DISCARD_WAITS)          /* a discard waits for the points of the chunk */                              \
    X(OWN_STREAM_IS_RECORDED) /* at once, if the stream is private to a thread: no other thread could */     \
    X(OPEN_IS_NOT_DISCARDED)  /* no memory is discarded whose point is not recorded */                       \
    X(NOTHING_BEHIND_PEERS)   /* no movement waits for a stream that may wait for other ranks */             \
    X(TAKEN_MEANWHILE)        /* memory taken before its discard checked the frees is copied */              \
    X(DISCARD_IS_TOLD_FIRST)  /* the discard's number is known before the content is dead */                 \
    X(FREE_FINISHES)          /* cuMemFree waits for all work */                                             \
    X(WORK_BEFORE_CAPTURE)    /* also for work that a stream had before its capture began */                 \
    X(WORK_BEFORE_DRAWN_IN)   /* or before it was drawn into a capture */                                    \
    X(WORK_OF_THE_GONE)       /* and for work that a destroyed stream left */                                \
    X(SERIALS_DIFFER)         /* a stream is not mistaken for another that had its number */                 \
    X(LATER_BY_RECORDING)     /* a point replaces another only if it was recorded after it */                \
    X(PASSED_BEFORE)          /* memory freed while the host waits for the context has not passed */         \
    X(QUIET_BEFORE)           /* a launch made while it waits is not done */                                 \
    X(UNSURE_IS_AHEAD)        /* what could not be recorded has not passed */                                \
    X(UNKNOWN_IS_IN_USE)      /* a launch counts although it is not known whether its stream captures */     \
    X(HANDLES_ARE_HELD)       /* no stream is destroyed while another thread records an event on it */       \
    X(CAPTURE_BEGINS_ALONE)   /* nor begins to capture while another thread may wait for it */

enum sl_guard {
    SL_GUARD_NONE,
#define SL_GUARD_NAME(name) SL_GUARD_##name,
    SL_GUARDS(SL_GUARD_NAME)
#undef SL_GUARD_NAME
};

/* The mechanisms of planning and prediction, each with a name. SLUICE_TEST_WITHOUT leaves out those whose
 * bits are set, so that tests/bench/ablation.py can measure what each brings. */
#define SL_MECHANISMS(X)                                                                                     \
    X(VARIANTS)    /* of the best prices, by chance */                                                       \
    X(LESSONS)     /* go from one plan to the next */                                                        \
    X(SLACK)       /* plans may leave a part of the budget free */                                           \
    X(IN_PLACE)    /* launches may use in host memory what they use once */                                  \
    X(FILLS)       /* launches that exceed the budget get a part of what they lack */                        \
    X(CONTINUE)    /* a plan begins where the one before ends, not with the chunks as they are */            \
    X(CONFIDENCE)  /* predictions are planned for only as far as they lately held */                         \
    X(GOES_ON)     /* a plan goes on behind launches that it does not have */                                \
    X(INTERLEAVER) /* streams that interleave by chance are predicted one by one */                          \
    X(RELAYOUT)    /* allocations of a period are placed anew */                                             \
    X(HASTEN)      /* a plan that fits badly is replaced before its end */                                   \
    X(AFTER_FREE)  /* what comes in the place of freed memory comes with the free */

enum sl_mechanism {
#define SL_MECHANISM_NAME(name) SL_MECHANISM_##name,
    SL_MECHANISMS(SL_MECHANISM_NAME)
#undef SL_MECHANISM_NAME
};

/* Where threads are delayed at random, with the seed SLUICE_TEST_DELAY, so that tests see a late daemon, a
 * late plan and threads that are delayed between two steps, on any machine. */
enum sl_delay_place {
    SL_DELAY_NEWS,         /* after the daemon read what is new, before it looks whether it is to end */
    SL_DELAY_STOPPED,      /* after it was told to end, before it is waited for */
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
    SL_DELAY_PYTHON,        /* before a thread reads its Python frames */
    SL_DELAY_LANDING, /* after a thread saw that a movement has not landed, before it reads what is new */
    SL_DELAY_SLEEP,   /* after it looked again, before it sleeps */
    SL_DELAY_PLACES
};

#ifdef SLUICE_TEST_HOOKS
struct sl_plan_input;
struct sl_plan;

/* Whether the guard is active. */
bool sl_guard_works(enum sl_guard guard);
bool sl_mechanism_works(enum sl_mechanism mechanism);

/* Mostly returns at once; else yields, or sleeps for a few milliseconds at most. The seed, the place and the
 * number of visits determine the action. Thread-safe. */
void sl_test_delay(enum sl_delay_place place);
/* If set, called at each place; simulates other threads' actions in between. */
extern void (*sl_test_delay_hook)(enum sl_delay_place place);

/* With the seed SLUICE_TEST_WRONG_PLANS: changes random actions, so that tests can check that a wrong plan
 * costs time but never data. It removes them, makes them too early, confuses live and dead content, or names
 * other chunks. The plan can still be carried out: actions are in the order of `after`, and frames come from
 * earlier actions. */
void sl_wrong_plan(const struct sl_plan_input *input, struct sl_plan *plan);

#define SL_GUARD(name) sl_guard_works(SL_GUARD_##name)
#define SL_HAS(name) sl_mechanism_works(SL_MECHANISM_##name)
#define SL_TEST_DELAY(place) sl_test_delay(SL_DELAY_##place)
#define SL_WRONG_PLAN(input, plan) sl_wrong_plan(input, plan)
#else
#define SL_GUARD(name) true
#define SL_HAS(name) true
#define SL_TEST_DELAY(place) ((void)0)
#define SL_WRONG_PLAN(input, plan) ((void)0)
#endif

#endif
