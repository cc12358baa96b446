/* What a rehearsal shows: whether the program fits, how long a step takes, and what limits it. */
#ifndef SLUICE_TOOL_OUTCOME_H
#define SLUICE_TOOL_OUTCOME_H

#include "tools/rehearse/rehearsal.h"

enum fits {
    FITS_ALONE,       /* all of it on the card */
    FITS_WITH_SLUICE, /* part of it on the host */
    FITS_NOT,         /* an allocation was refused, and the command ended with an error */
    FITS_UNKNOWN,     /* the command ended with another error, or made no step */
};
enum limit { LIMIT_KERNELS, LIMIT_LINK_IN, LIMIT_LINK_OUT, LIMIT_HOST };

enum { OUTCOME_POINTS = 8 };

struct outcome {
    const struct card *card;
    enum fits fits;
    size_t ranks;
    uint64_t steps;                    /* that count for the figures below; 0: none */
    uint64_t need_bytes, budget_bytes; /* of the rank that needs most */
    uint64_t host_bytes,
        host_limit_bytes;         /* of all ranks: chunks and what is pinned; the most that chunks may take */
    uint64_t refused_bytes;       /* of the first allocation that was refused; 0: none was */
    bool by_clock;                /* step_ns is from the begin of a step to the begin of the next */
    uint64_t step_ns, kernels_ns; /* of the slowest rank, by the device's clock; the median */
    uint64_t fetched_bytes, evicted_bytes; /* the same step, the same rank */
    uint64_t host_ns; /* of a step: the program's and sluice's processor time, by this machine, where the
                         ranks share the cores; 0: unknown */
    enum limit limit;
    bool stopped;
    int status;
    uint64_t processor_ns, resident_bytes; /* what the rehearsal itself took */
    uint64_t resident_step_ns;             /* a step with all on the device; 0: unknown */
    struct outcome_point {
        uint64_t budget_bytes, step_ns, fetched_bytes, evicted_bytes;
    } curve[OUTCOME_POINTS]; /* predicted, with less on the device */
    size_t points;
};

/* `curve`: predict it. Returns EXIT_OK, or another status after a message. */
int outcome_make(const struct rehearsal_wish *wish, const struct rehearsal *rehearsal, bool curve,
                 struct outcome *out);

#endif
