/* The mechanisms of planning and prediction, each with a name. Objects that are compiled with
 * SLUICE_TEST_HOOKS leave out those whose bits are set in SLUICE_TEST_WITHOUT, so that
 * tests/bench/ablation.py can measure what each brings. Other objects have no such switches. */
#ifndef SLUICE_ABLATION_H
#define SLUICE_ABLATION_H

#include <stdbool.h>

#define SL_MECHANISMS(X)                                                                                     \
    X(RELAXATION)  /* victims that the linear relaxation of a period evicts are preferred */                 \
    X(VARIANTS)    /* of the best prices, by chance */                                                       \
    X(LESSONS)     /* go from one plan to the next */                                                        \
    X(FILLS)       /* launches that exceed the budget get a part of what they lack */                        \
    X(CONTINUE)    /* a plan begins where the one before ends, not with the chunks as they are */            \
    X(CONFIDENCE)  /* predictions are planned for only as far as they lately held */                         \
    X(GOES_ON)     /* a plan goes on behind launches that it does not have */                                \
    X(INTERLEAVER) /* streams that interleave by chance are predicted one by one */                          \
    X(SUCCESSORS)  /* are prefetched where launches are often mispredicted */                                \
    X(RELAYOUT)    /* allocations of a period are placed anew */                                             \
    X(HASTEN)      /* a plan that fits badly is replaced before its end */                                   \
    X(AFTER_FREE)  /* what comes in the place of freed memory comes with the free */

enum sl_mechanism {
#define SL_MECHANISM_NAME(name) SL_MECHANISM_##name,
    SL_MECHANISMS(SL_MECHANISM_NAME)
#undef SL_MECHANISM_NAME
};

#ifdef SLUICE_TEST_HOOKS
bool sl_mechanism_works(enum sl_mechanism mechanism);
#define SL_HAS(name) sl_mechanism_works(SL_MECHANISM_##name)
#else
#define SL_HAS(name) true
#endif

#endif
