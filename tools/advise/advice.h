/* Advice: what to change, what it would bring, and how sure that is; and in which order it is given. */
#ifndef SLUICE_TOOL_ADVICE_H
#define SLUICE_TOOL_ADVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ADVICE_LEAST_PERCENT = 3, /* of a step: less gain is no advice */
    ADVICE_LOSS_PERCENT = 2,  /* accepted slowdown of a step with a smaller budget */
    ADVICE_SAVED_PERCENT = 5, /* of the memory in use: a smaller budget saves at least this */
    ADVICE_MAX = 24,
    ADVICE_TEXT = 256,
};

enum advice_basis {
    ADVICE_FACT,      /* says what limits the step, or the other advice; brings nothing by itself */
    ADVICE_SIMULATED, /* replayed with the change */
    ADVICE_BOUND,     /* the program would be another one: it cannot bring more than this */
};

struct advice {
    const char *kind; /* one word, for programs */
    enum advice_basis basis;
    bool saves_memory;            /* its gain is memory, at almost the same time */
    bool changes_training;        /* the program would compute something else */
    char what[ADVICE_TEXT];       /* what to do, and what it does; ends without a full stop */
    char line[ADVICE_TEXT];       /* the exact line to type, or the change to the program; may be empty */
    const char *unseen;           /* what the figures do not include; NULL: nothing special */
    uint64_t before_ns, after_ns; /* of a step; 0: not about time */
    uint64_t before_bytes, after_bytes; /* of device memory; equal: it does not change */
    uint64_t before_moved,
        after_moved; /* bytes over the link in a step, both directions; of ADVICE_SIMULATED */
};

struct advice_list {
    struct advice at[ADVICE_MAX];
    size_t count;
};

/* The next entry, zeroed; the list never grows beyond ADVICE_MAX: then the last entry is overwritten. */
struct advice *advice_add(struct advice_list *list, const char *kind, enum advice_basis basis);

/* The share of the time that it saves, in per cent; negative: it takes longer. */
double advice_percent(const struct advice *advice);
double advice_memory_percent(const struct advice *advice);

/* Whether a step of `after_ns` is so much shorter than one of `before_ns` that it is worth advice. */
bool advice_pays(uint64_t before_ns, uint64_t after_ns);

/* Facts, then what saves time by simulation, then what may save time at most, then what saves memory, and
 * last what changes the training; each by gain, and in the order of addition where that is equal.
 */
void advice_rank(struct advice_list *list);

/* A budget that was tried. */
struct advice_point {
    uint64_t budget_bytes, step_ns; /* step_ns 0: the replay failed */
};

/* The least budget with a step of at most `most_ns`; SIZE_MAX: none. */
size_t advice_least_budget(const struct advice_point *points, size_t count, uint64_t most_ns);

/* Where more memory stops paying: the least budget whose step is at most ADVICE_LOSS_PERCENT longer than the
 * shortest of all. SIZE_MAX: none is worth advice, compared with `before_ns`. */
size_t advice_knee(const struct advice_point *points, size_t count, uint64_t before_ns);

/* The least time in which `in_bytes` come to the device and as many leave it. `both_percent`: the speed of
 * each direction while both are in use. */
uint64_t advice_link_ns(uint64_t bytes, uint64_t in_bytes_per_s, uint64_t out_bytes_per_s,
                        unsigned both_percent);

#endif
