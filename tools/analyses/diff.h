/* The comparison of two traces of one program: what differs between their steady iterations, and whether it
 * matters.
 *
 * A difference matters if it exceeds
 *   - the threshold, in per cent of the smaller value, so that the comparison of B with A is that of A with B
 *     mirrored,
 *   - a tenth of the threshold, in per cent of the whole of which the value is a part, and
 *   - the distance within which most iterations of either trace lie (spread_width): less is noise.
 * Times are compared only if they are on comparable clocks. Thread safety: one comparison is used by one
 * thread. */
#ifndef SLUICE_TOOL_DIFF_H
#define SLUICE_TOOL_DIFF_H

#include "tools/analyses/figures.h"
#include "tools/analyses/sites.h"
#include "tools/analyses/spread.h"
#include "tools/model/trace_open.h"

enum { DIFF_A, DIFF_B, DIFF_SIDES };

enum diff_state {
    DIFF_SAME,  /* equal, or below the threshold */
    DIFF_NOISE, /* above it, but iterations of one trace differ as much */
    DIFF_MORE,  /* B's is larger, and it matters */
    DIFF_LESS,
    DIFF_ADDED, /* only B has it */
    DIFF_GONE,  /* only A has it */
    DIFF_STATES,
};

/* By which figures B is judged. */
enum diff_basis {
    DIFF_BY_HOST_TIME,       /* the time of an iteration */
    DIFF_BY_DEVICE_TIME,     /* the device has a clock of its own: kernels and stalls */
    DIFF_BY_STALL_AND_BYTES, /* the same, and the times of most launches are unknown or guessed */
    DIFF_BY_BYTES,           /* the devices or their clocks differ */
};

struct diff_figure {
    struct spread of[DIFF_SIDES]; /* over the steady iterations */
    enum diff_state state;
    bool compared; /* both are known and comparable; else `state` is DIFF_SAME */
};

/* The launches of kernels of one name, or all other launches of one kind, for each steady iteration. */
struct diff_kernel {
    const char *name; /* defused */
    uint8_t kind;     /* enum sl_launch_kind */
    struct diff_figure time, stalled, launches;
    uint64_t stalls[DIFF_SIDES];   /* median */
    uint64_t measured[DIFF_SIDES]; /* launches whose time was measured, in all iterations */
    uint64_t all[DIFF_SIDES];      /* launches in the whole traces */
    enum diff_state state;         /* added, gone, or as the first of these figures that matters */
};

struct diff_site {
    const struct site_figures *of[DIFF_SIDES]; /* NULL: no allocation from there */
    enum diff_state state;                     /* of its peak */
};

enum diff_unit { DIFF_TEXT, DIFF_BYTES, DIFF_BYTES_PER_SECOND };
struct diff_setting {
    const char *name, *text[DIFF_SIDES]; /* NULL: unknown; of DIFF_TEXT */
    uint64_t number[DIFF_SIDES];         /* 0: unknown; of other units */
    enum diff_unit unit;
    bool differs;
};
enum { DIFF_SETTINGS = 13 };

/* What is known of one trace. */
struct diff_side {
    const struct model *model;
    struct program_name program;
    struct phases phases;
    struct steady steady;
    struct figures figures;
    struct sites sites;
    bool own_clock, /* the device's times are not the host's */
        guessed;    /* the times of most launches are guessed or unknown */
};

struct diff {
    struct diff_side sides[DIFF_SIDES];
    uint64_t threshold; /* per cent */
    enum diff_basis basis;
    bool devices_differ;
    struct diff_figure figures[FIGURE_COUNT];
    struct diff_setting settings[DIFF_SETTINGS];
    struct diff_kernel *kernels; /* the largest difference of time first */
    size_t kernel_count;
    struct diff_site *sites; /* the largest difference first */
    size_t site_count;
    bool sites_in_common; /* some are; if none is, the program was probably built anew */
};

/* Precondition: both traces have launches. False: out of memory. In both cases the caller frees *out; the
 * models must outlive it. */
bool diff_make(const struct model *a, const struct model *b, uint64_t threshold, struct diff *out);
void diff_free(struct diff *diff); /* accepts a zeroed one */

/* DIFF_MORE: B is worse by the basis; DIFF_LESS: better; else DIFF_SAME or DIFF_NOISE. */
enum diff_state diff_verdict(const struct diff *diff);

/* The time by which B is judged, or of which parts are shown if it is judged by other figures. */
static inline enum figure diff_time(const struct diff *diff)
{
    return diff->basis == DIFF_BY_HOST_TIME ? FIGURE_HOST_TIME : FIGURE_DEVICE_TIME;
}

/* Whether the difference is to be shown. */
static inline bool diff_matters(enum diff_state state)
{
    return state != DIFF_SAME && state != DIFF_NOISE;
}

/* The state of two values, given the distance within which values of one trace lie, and the larger of the
 * wholes that they are parts of (0: they are wholes). */
enum diff_state diff_compare(uint64_t a, uint64_t b, uint64_t width, uint64_t whole, uint64_t threshold);

/* Compares medians. */
enum diff_state diff_compare_spreads(const struct spread of[DIFF_SIDES], uint64_t whole, uint64_t threshold);

/* diff_kernels.c, diff_sites.c: fill the members of these names. False: out of memory. */
bool diff_find_kernels(struct diff *diff);
bool diff_find_sites(struct diff *diff);

/* B's value less A's, in per cent of A's; infinite if only that is 0. */
double diff_per_cent(uint64_t a, uint64_t b);

/* What differs, in numbers of rows. Kernels and sites that were added or are gone matter. */
struct diff_counts {
    size_t matter, small, noise; /* small: less than the threshold; equal rows are not counted */
    size_t not_compared;
};
struct diff_counts diff_count_figures(const struct diff *diff);
struct diff_counts diff_count_kernels(const struct diff *diff);
struct diff_counts diff_count_sites(const struct diff *diff);

/* The name of a state: "same", "noise", "more", "less", "added", "gone". */
const char *diff_state_name(enum diff_state state);

#endif
