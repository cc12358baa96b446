/* The waits and checks that keep data, each with a name. The test library leaves one of them out when it is
 * told to (SLUICE_TEST_MUTANT), to show that a test fails then; in all other objects nothing is left of this.
 * docs/testing.md has the list of what fails without each.
 */
#ifndef SLUICE_GUARDS_H
#define SLUICE_GUARDS_H

#include <stdbool.h>

#define SL_GUARDS(X)                                                                                         \
    X(POINT_OF_FREE)          /* a free records its point */                                                 \
    X(OPEN_POINT_IS_RECORDED) /* later, but before anybody waits for it */                                   \
    X(POINT_BEFORE_GIVEN)     /* before the memory can be given out again */                                 \
    X(STREAM_WAITS)           /* cuMemAllocAsync's stream waits for the points of other streams */           \
    X(STREAM_WAITS_DISCARD)   /* and for the discard of the chunk */                                         \
    X(ALL_WAIT)               /* behind cuMemAlloc every stream waits for the points */                      \
    X(ALL_WAIT_DISCARD)       /* and for the discard */                                                      \
    X(JOINED_AFTER_WAIT)      /* and counts as waiting only when it does */                                  \
    X(DISCARD_WAITS)          /* a discard waits for the points of the chunk */                              \
    X(OWN_STREAM_IS_RECORDED) /* at once, where the stream is a thread's own: no other thread could */       \
    X(OPEN_IS_NOT_DISCARDED)  /* nothing is discarded whose point is not recorded yet */                     \
    X(NOTHING_BEHIND_PEERS)   /* no movement waits for a stream that may wait for other ranks */             \
    X(TAKEN_MEANWHILE)        /* what is taken before its discard has looked at the frees is copied */       \
    X(DISCARD_IS_TOLD_FIRST)  /* the number of a discard is known before the content is dead */              \
    X(FREE_FINISHES)          /* cuMemFree waits for all work */                                             \
    X(WORK_BEFORE_CAPTURE)    /* also for what a stream was given before it began to capture */              \
    X(WORK_BEFORE_DRAWN_IN)   /* or was drawn into a capture */                                              \
    X(WORK_OF_THE_GONE)       /* and for what a destroyed stream left */                                     \
    X(SERIALS_DIFFER)         /* a stream is not taken for another that had its number */                    \
    X(LATER_BY_RECORDING)     /* a point stands for another only if it was recorded after it */              \
    X(PASSED_BEFORE)          /* what is freed while the host waits for the context has not passed */        \
    X(QUIET_BEFORE)           /* what is launched while it waits is not done */

enum sl_guard {
    SL_GUARD_NONE,
#define SL_GUARD_NAME(name) SL_GUARD_##name,
    SL_GUARDS(SL_GUARD_NAME)
#undef SL_GUARD_NAME
};

#ifdef SLUICE_TEST_HOOKS
/* Whether the guard works. */
bool sl_guard_works(enum sl_guard guard);
#define SL_GUARD(name) sl_guard_works(SL_GUARD_##name)
#else
#define SL_GUARD(name) true
#endif

#endif
