/* What each steady iteration of a trace took: time, stalls, bytes moved, memory. */
#ifndef SLUICE_TOOL_FIGURES_H
#define SLUICE_TOOL_FIGURES_H

#include "tools/analyses/accounts.h"
#include "tools/analyses/steady.h"

/* Times are in nanoseconds, memory and traffic in bytes. */
enum figure {
    FIGURE_HOST_TIME,   /* from its first launch to the next iteration's, on the program's clock */
    FIGURE_DEVICE_TIME, /* kernels and stalls together */
    FIGURE_KERNELS,     /* time of its launches on the device, measured or estimated */
    FIGURE_STALLED,     /* time that launches waited for data */
    FIGURE_STALLS,
    FIGURE_LAUNCHES,
    FIGURE_MISPREDICTIONS,

    FIGURE_MOVED,      /* fetched and evicted */
    FIGURE_FETCHED,    /* all causes */
    FIGURE_FETCHED_BY, /* enum sl_move_cause */
    FIGURE_EVICTED = FIGURE_FETCHED_BY + MOVE_CAUSES,
    FIGURE_EVICTED_BY,
    FIGURE_POPULATED = FIGURE_EVICTED_BY + MOVE_CAUSES, /* came to the device without a copy */
    FIGURE_DISCARDED,                                   /* left without a copy */
    FIGURE_COPIED_IN,                                   /* the program's own copies */
    FIGURE_COPIED_OUT,
    FIGURE_FETCHED_OF, /* enum memory_class */
    FIGURE_EVICTED_OF = FIGURE_FETCHED_OF + CLASS_COUNT,

    FIGURE_PEAK = FIGURE_EVICTED_OF + CLASS_COUNT, /* on the device at one of its launches */
    FIGURE_PEAK_OF,
    FIGURE_MEAN = FIGURE_PEAK_OF + CLASS_COUNT, /* mean over its launches */
    FIGURE_MEAN_OF,
    FIGURE_NEED = FIGURE_MEAN_OF + CLASS_COUNT, /* most live memory, wherever it lies */
    FIGURE_COUNT
};

/* What a figure counts. */
enum figure_unit { FIGURE_IN_NS, FIGURE_IN_BYTES, FIGURE_IN_NUMBERS };
enum figure_unit figure_unit(unsigned figure);

/* Its name: "fetched, demand". */
#define FIGURE_NAME 40
const char *figure_name(unsigned figure, char out[FIGURE_NAME]);

/* How the times of the launches in the iterations are known. */
struct launch_times {
    uint64_t launches;
    uint64_t measured; /* by themselves */
    uint64_t alike;    /* launches of the same kernel and size were measured */
    uint64_t guessed;  /* others of the same kernel were */
};

struct figures {
    uint64_t (*of)[FIGURE_COUNT]; /* of each iteration */
    uint32_t count;
    struct launch_times times;
    bool classes_known; /* phases were found */
    bool moved_classes; /* the places of chunks are known, so FETCHED_OF and EVICTED_OF are */
    bool by_lives;      /* memory by class is live memory, on the device and on the host */
};

/* Precondition: steady->count > 0. False: out of memory. In both cases the caller frees *out. */
bool figures_make(const struct model *model, const struct phases *phases, const struct steady *steady,
                  struct figures *out);
void figures_free(struct figures *figures); /* accepts a zeroed one */

/* class_memory.c: the figures of memory, and of bytes moved by class. False: out of memory. */
bool figures_of_memory(const struct model *model, const struct phases *phases, const struct steady *steady,
                       struct figures *out);

/* The time of each launch on the device, and how it is known. Launches of the same kernel and size are alike,
 * whatever they touch. */
enum time_source { TIME_UNKNOWN, TIME_GUESSED, TIME_ALIKE, TIME_MEASURED };
struct launch_clock {
    uint64_t *ns;       /* of each launch */
    uint8_t *source;    /* enum time_source */
    uint64_t *shape_ns; /* the mean of launches like those of each shape */
};

/* False: out of memory. In both cases the caller frees *out. */
bool launch_clock_make(const struct model *model, struct launch_clock *out);
void launch_clock_free(struct launch_clock *clock);

#endif
