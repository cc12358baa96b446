/* A trace in memory, for commands that need more than one record at a time.
 *
 *   shape   the common part of repeated launches: kernel, size, ranges that they may touch
 *   set     the ranges that launches of a shape may touch
 *   range   a part of one slot
 *   life    of a slot: from an allocation to its free
 *
 * Launches are sorted by tick and everything else by time, which the records of different threads in the file
 * are not. The file is not trusted: every index in the model is valid, and `missing` counts references to
 * missing records. Read-only after model_open; used by one thread. */
#ifndef SLUICE_TOOL_MODEL_H
#define SLUICE_TOOL_MODEL_H

#include "tools/text/progress.h"
#include "tools/model/trace_text.h"

#define MODEL_ALWAYS UINT64_MAX /* a life without a free */

struct model_launch {
    uint64_t tick, time_ns; /* of the launch by the program, on the host's clock */
    uint32_t shape;         /* in `shapes` */
    uint16_t stream;        /* in `streams` */
    uint16_t thread;        /* that recorded it; 65535 stands for all later ones */
};

struct model_shape {
    uint64_t size;     /* threads of a kernel's grid; bytes of a copy, memset or collective */
    uint32_t kernel;   /* 0: not a kernel */
    uint32_t set;      /* in `sets` */
    uint8_t kind;      /* enum sl_launch_kind */
    uint8_t direction; /* enum sl_copy_direction */
    bool lost;         /* its accesses are missing in the file */
};

struct model_set {
    uint32_t first, count; /* in `set_ranges` */
};

struct model_range {
    uint64_t offset, bytes;
    uint32_t slot; /* in `slots` */
    bool only_read;
};

struct model_slot {
    uint64_t bytes; /* 0: its allocation is missing in the file */
    uint64_t site, address;
    uint32_t id; /* in the file; later slots may reuse it */
};

struct model_life {
    uint64_t born_ns, died_ns;     /* MODEL_ALWAYS: never freed */
    uint64_t born_tick, died_tick; /* newest launch at that time */
    uint32_t slot;
    bool born_before; /* its allocation is missing in the file: it was made before the trace, or lost */
    uint64_t born_on, died_on; /* 1 + the handle of the stream in whose order; 0: of none, or unknown */
};

struct model_move {
    uint64_t tick, time_ns, bytes;
    uint32_t chunk;
    uint8_t kind, cause; /* enum sl_action_kind, enum sl_move_cause */
};

struct model_transfer { /* as measured by the device */
    uint64_t tick, began_ns, took_ns, bytes;
    uint32_t chunk;
    uint8_t kind, cause;
};

struct model_stall {
    uint64_t tick, time_ns, took_ns; /* time: when the end of the stall was known */
    uint64_t launch;                 /* tick of the waiting launch; 0: unknown */
    uint32_t chunks;
};

struct model_slab {
    uint64_t address, bytes;
    uint32_t chunk; /* its first */
};

struct model_iteration { /* a completed iteration */
    uint64_t tick, time_ns;
    uint64_t symbols, fed, predicted; /* fed, predicted: since the start; 0 in traces before 1.2 */
    uint32_t number;
};

struct model_duration {
    uint64_t tick, took_ns; /* on the device */
    uint64_t began_ns;      /* on the records' clock, converted from the device's; 0: unknown */
    bool idle;              /* the stream had nothing to do, so that took_ns has a part of the submission */
};

/* As numbered in docs/trace-format.md. All ranks of a communicator take part in those up to SCATTER. */
enum collective_function {
    FUNCTION_SEVERAL,
    FUNCTION_ALL_REDUCE,
    FUNCTION_BROADCAST,
    FUNCTION_BCAST,
    FUNCTION_REDUCE,
    FUNCTION_REDUCE_SCATTER,
    FUNCTION_ALL_GATHER,
    FUNCTION_ALL_TO_ALL,
    FUNCTION_GATHER,
    FUNCTION_SCATTER,
    FUNCTION_SEND,
    FUNCTION_RECEIVE,
};

struct model_collective { /* a launch with a known communicator */
    uint64_t tick, time_ns, bytes;
    uint64_t communicator; /* equal on all of its ranks */
    uint32_t function;     /* enum collective_function; not checked */
};

struct model_message { /* sent or received by the collective with the same tick */
    uint64_t tick, bytes, communicator;
    uint64_t own, peer; /* ranks of the communicator */
    bool receives;
};

struct model_mark {
    uint64_t tick, time_ns;
    const char *name; /* defused */
    uint32_t id, thread;
    uint8_t kind, source; /* enum sl_mark_kind; 0 NVTX, 1 sluice/marks.h */
};

struct model_thread {
    uint64_t thread; /* as in launches, marks and syncs */
    uint64_t system; /* what gettid calls it */
};

struct model_sync {
    uint64_t tick, time_ns, took_ns, handle; /* time: of the end */
    uint32_t thread;
    uint8_t kind; /* enum sl_sync_kind */
};

struct model_order { /* the program records an event on a stream, or makes the stream wait for it */
    uint64_t tick, time_ns, stream, event; /* handles */
    bool waits;
};

struct model_error {
    uint64_t tick, time_ns, bytes, site;
    uint32_t code;
    uint8_t kind; /* enum sl_error_kind */
};

struct model_gap {
    uint64_t tick, time_ns, lost;
    uint32_t thread;
};

struct model_site {
    uint64_t site;
    const char *frames; /* defused */
};

/* A frame of Python of a site. */
struct model_python {
    uint64_t site;
    const char *text;     /* "FUNCTION FILE"; defused */
    uint32_t depth, line; /* 0: the innermost; 0: unknown */
};

/* What PyTorch calls a tensor that lives at this time. */
struct model_name {
    uint64_t time_ns, address, bytes;
    const char *text; /* defused */
};

struct model_module {
    uint64_t address, build[2];
    const char *path; /* defused */
    uint32_t id;
};

/* An array that grows while the model is built. */
#define MODEL_ARRAY(type)                                                                                    \
    struct {                                                                                                 \
        type *at;                                                                                            \
        size_t count, room;                                                                                  \
    }

/* Number of kinds of decisions, and of reasons for each: see trace/decision.h. */
enum { MODEL_DECISIONS = 5, MODEL_REASONS = 8 };

struct model {
    struct sluice_trace_header header;
    struct sl_trace_problem problem; /* where the file ends early or is damaged */
    uint64_t records;
    uint64_t first_ns, last_ns; /* of the records */

    MODEL_ARRAY(struct model_launch) launches;
    MODEL_ARRAY(struct model_shape) shapes;
    MODEL_ARRAY(struct model_set) sets; /* the first is empty */
    MODEL_ARRAY(uint32_t) set_ranges;   /* in `ranges` */
    MODEL_ARRAY(struct model_range) ranges;
    MODEL_ARRAY(uint64_t) streams; /* handles; the last one stands for all beyond 65535 */
    MODEL_ARRAY(struct model_slot) slots;
    MODEL_ARRAY(struct model_life) lives;
    MODEL_ARRAY(struct model_move) moves;
    MODEL_ARRAY(struct model_transfer) transfers;
    MODEL_ARRAY(struct model_stall) stalls;
    MODEL_ARRAY(struct model_slab) slabs; /* addresses of chunks */
    MODEL_ARRAY(struct model_iteration) iterations;
    MODEL_ARRAY(struct model_duration) durations;     /* by tick */
    MODEL_ARRAY(struct model_collective) collectives; /* by tick */
    MODEL_ARRAY(struct model_message) messages;       /* by tick */
    MODEL_ARRAY(struct model_mark) marks;
    MODEL_ARRAY(struct model_thread) threads; /* none in traces before 2.7 */
    MODEL_ARRAY(struct model_sync) syncs;
    MODEL_ARRAY(struct model_order) orders;
    MODEL_ARRAY(struct model_error) errors;
    MODEL_ARRAY(struct model_gap) gaps;
    MODEL_ARRAY(uint64_t) mispredictions; /* the launch before each */
    MODEL_ARRAY(struct model_site) sites;
    MODEL_ARRAY(struct model_python) pythons; /* by site and depth */
    MODEL_ARRAY(struct model_name) names;
    MODEL_ARRAY(struct model_module) modules;
    MODEL_ARRAY(const char *) metadata; /* "name=value", numbers included; defused */
    struct kernel_names kernels;

    uint64_t decisions[MODEL_DECISIONS][MODEL_REASONS]; /* count by enum sl_decision and reason */
    uint64_t budget_bytes, chunk_bytes, device_bytes;   /* last values in the trace; 0: none */
    uint64_t link_in, link_out;                         /* bytes a second; 0: not measured */

    struct {
        uint64_t records;  /* records that the program dropped: the sum of the gaps */
        uint64_t accesses; /* of missing launches */
        uint64_t sets;     /* launches that refer to a launch whose accesses are missing */
        uint64_t frees;    /* without an allocation */
        uint64_t births;   /* of allocations repeated without a free */
        uint64_t unknown;  /* records of kinds unknown to this version */
        uint64_t beyond;   /* records beyond the bounds of this program */
    } missing;
};

/* Reads everything. `progress` was started with the size of the file, or is zeroed. False: out of memory;
 * otherwise the caller frees *out with model_close. A file that ends early or is damaged is read up to there,
 * and (*out)->problem is set. */
bool model_read(struct sl_trace_reader *reader, struct progress *progress, struct model **out);

/* Reads a file for a command. On EXIT_OK *out is set, and the command ends with end_status(path,
 * &model->problem). Otherwise the reason is on stderr. */
int model_open(const char *path, struct model **out);
void model_close(struct model *model); /* accepts NULL */

/* The launch with this tick, or SL_NONE. */
uint32_t model_find_launch(const struct model *model, uint64_t tick);

/* The number of launches with ticks up to `tick`, or launched up to `time_ns`: the index of the first later
 * launch. */
uint32_t model_launches_to_tick(const struct model *model, uint64_t tick);
uint32_t model_launches_to_time(const struct model *model, uint64_t time_ns);

/* The system's number of a thread; 0: unknown. */
uint64_t model_system_thread(const struct model *model, uint32_t thread);

/* For display: the kernel's name, or the kind of launch. Never NULL. */
const char *model_launch_name(const struct model *model, const struct model_launch *launch);

static inline const struct model_shape *model_shape_of(const struct model *model,
                                                       const struct model_launch *launch)
{
    return &model->shapes.at[launch->shape];
}

/* for (uint32_t i = 0; i < set->count; i++) model_set_range(model, set, i)->... */
static inline const struct model_range *model_set_range(const struct model *model,
                                                        const struct model_set *set, uint32_t i)
{
    return &model->ranges.at[model->set_ranges.at[set->first + i]];
}

/* The last value of the trace's metadata ("device"), or NULL. */
const char *model_metadata(const struct model *model, const char *name);

#endif
