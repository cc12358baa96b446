/* The waits and checks that keep data correct, each with a name. The test library can leave one out
 * (SLUICE_TEST_MUTANT) to show that a test fails without it; in all other objects this has no cost.
 * docs/testing.md lists the tests that fail without each. */
#ifndef SLUICE_GUARDS_H
#define SLUICE_GUARDS_H

#include <stdbool.h>

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

#ifdef SLUICE_TEST_HOOKS
/* Whether the guard is active. */
bool sl_guard_works(enum sl_guard guard);
#define SL_GUARD(name) sl_guard_works(SL_GUARD_##name)
#else
#define SL_GUARD(name) true
#endif

#endif
