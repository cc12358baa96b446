/* The core's one instance, private to src/.
 *
 * `order` serialises what gives the program its order: allocations, frees and the beginnings and ends of
 * launches. Nothing is enqueued while it is held, and the daemon never takes it. docs/concurrency.md has all
 * locks.
 */
#ifndef SLUICE_CORE_H
#define SLUICE_CORE_H

#include "budget.h"
#include "due.h"
#include "duration.h"
#include "face.h"
#include "footprint.h"
#include "frees.h"
#include "kernel.h"
#include "live.h"
#include "place.h"
#include "planning.h"
#include "policy.h"
#include "predict.h"
#include "runtime.h"
#include "schedule.h"
#include "stats.h"
#include "streams.h"
#include "symbol.h"
#include "table.h"
#include "trust.h"
#include "weave.h"

#define SL_MAX_WORDS 4096   /* pointers looked at in one launch */
#define SL_OPEN_LAUNCHES 64 /* launches between begin and end, one for each thread */
#define SL_STALLS 64
#define SL_STEADY_STREAK SL_TRUST_LEAST /* symbols in a row that came true before a prediction is trusted */
#define SL_VICTIMS 64
#define SL_MOST_JOINS 64
#define SL_LEAST_BUDGET (4 * SL_BLOCK_BYTES)
#define SL_ASSUMED_LINK_BYTES_PER_S 24000000000u /* until it is measured: what PCIe 4 x16 carries */
#define SL_BYTES_FOR_THREAD 4                    /* that a kernel reaches at least, for each thread */

/* A launch that had to wait for a fetch: from `reached` to the fetch's event it stalled. */
struct sl_stall {
    sl_event_handle reached;
    _Atomic uint64_t in_sequence; /* 0: free, or not measured yet */
    sl_tick tick;
    uint32_t iteration;
};

struct sl_daemon;
struct sl_learned;
struct sl_sampler;

struct sl_core {
    struct sl_lock order;
    struct sl_backend backend;
    const struct sl_options *options;
    const struct sl_policy_facts *policy;
    struct sl_trace *trace;
    uint32_t slabs_told;        /* to the trace */
    struct sl_sampler *sampler; /* NULL: no launch is timed */
    struct sl_durations durations;
    struct sl_learned *learned; /* NULL: no profile is asked for */
    size_t primed_symbols;      /* of a profile, that were foreseen at the start */

    struct sl_arena arena;
    struct sl_placement placement;
    struct sl_kernels kernels;
    struct sl_symbols symbols;
    struct sl_tables tables;
    struct sl_predictor *predictor;
    struct sl_mover mover;
    struct sl_schedule schedule;
    struct sl_daemon *daemon; /* NULL: inline */
    struct sl_planning planning;
    struct sl_due due;

    uint64_t budget_bytes; /* as decided at the start */
    struct sl_budget_watch watch;
    _Atomic int64_t charged_bytes;
    uint64_t host_limit_bytes, virtual_size_bytes;
    uint64_t allocations; /* so far */
    uint64_t link_in_bytes_per_s, link_out_bytes_per_s;

    sl_tick tick;
    _Atomic sl_tick open[SL_OPEN_LAUNCHES]; /* ticks begun and not ended; 0: free */
    uint32_t streak;                        /* symbols predicted in a row */
    struct sl_trust trust;
    struct sl_weave *weave; /* NULL: nothing speaks for it that streams go their own ways */
    bool woven;             /* what is expected is what the weave expects, and not the predictor */
    uint64_t weave_gained;  /* symbols that the weave foretold less those that the predictor would have */
    uint32_t troubles;      /* lately not predicted; */
    uint64_t trouble_at;    /* the last time */
    bool pressure;          /* the budget was too small at some time */
    uint64_t symbols_fed, iteration_end;
    uint32_t iterations;                  /* that have ended */
    uint64_t told_link_in, told_link_out; /* speeds, to the trace */
    uint64_t told_fed;                    /* symbols, when the last of them had ended */
    uint64_t told_at_ns;                  /* when the trace was last told what changes: see fact.c */
    uint64_t told_changes;                /* and what it was */

    struct sl_known_stream {
        sl_stream handle;
        uint64_t serial;                /* no other stream has or had it */
        uint64_t thread;                /* whose default stream it is; 0: any thread's */
        uint64_t joined_out, joined_in; /* the last movement of each direction that it waited for */
    } streams[SL_SHARED_STREAM];
    sl_event_handle
        before_capture[SL_SHARED_STREAM]; /* what a stream that captures was given before; or NULL */
    uint64_t serials;                     /* given so far */
    uint32_t stream_count;
    uint32_t last_stream;    /* the one asked for last */
    sl_stream *more_streams; /* that found no number of their own */
    uint32_t more_stream_count, more_stream_capacity;
    uint64_t active_streams; /* bits of those used since the program last waited for its whole context */
    struct sl_waits gone;    /* what streams that are gone left behind since then */
    _Atomic int captures;    /* stream captures under way in the process, or about to be */
    _Atomic uint64_t captures_ended;
    _Atomic uint32_t may_capture[SL_STREAMS]; /* how often a stream was about to capture, by number */
    struct sl_frees frees;
    struct sl_join {
        struct sl_wait wait;
        /* Bits of the streams that wait already. A number becomes another stream's only when the program
         * waited for the context since it was used, and then there are no joins. */
        uint64_t joined;
    } joins[SL_MOST_JOINS]; /* what all streams wait for, see reuse.h */
    uint32_t join_count;
    uint64_t join_out; /* the same: a movement of the out direction */

    struct sl_victim {
        sl_chunk chunk;
        uint64_t turn;
    } victims[SL_VICTIMS]; /* the first to leave when last looked, in their order: see demand.c */
    uint32_t victim_count, victim_next;
    struct sl_stall stalls[SL_STALLS];
    uint32_t stall_next;

    /* The launch being begun. */
    uint32_t stream; /* its number */
    struct sl_word scanned[SL_MAX_WORDS];
    const struct sl_word
        *words; /* addresses of arenas that it was given: `scanned`, or those of a footprint */
    uint32_t word_count;
    struct sl_access *resolved;
    uint32_t resolved_capacity;
    const struct sl_access
        *accesses; /* what they are: `resolved`, or those of the symbol that was expected */
    uint32_t access_count;
    const sl_chunk *touched; /* its chunks, each once: in `touched_space`, or its face's */
    uint32_t touched_count, touched_capacity;
    sl_chunk *touched_space;
    uint64_t pinned_bytes;      /* that it uses in place because they are pinned */
    const struct sl_face *face; /* that it was recognised by, or NULL */
    bool came_as_expected;      /* without a face */
    uint32_t trace_lap;         /* of the trace's file, which was told what is alive in it */
    uint32_t told_slots;        /* up to here: the others in launches to come */
    uint64_t extents_version;   /* counts what was learned of where tensors end */
    uint64_t extents_learned;   /* the version and the symbols that sl_extents_learn saw last */
    uint32_t symbols_learned;
    uint64_t learned_at; /* symbols_fed when sl_extents_learn was last called */

    struct sl_live *live;               /* NULL: no figures are kept for a sudden end */
    _Alignas(64) struct sl_stats stats; /* at the beginning of a page and last, as it may be a file's */
};

/* The serial of stream number `s`; 0 where it is not one stream's. */
static inline uint64_t sl_core_serial(const struct sl_core *core, uint32_t s)
{
    return s == SL_SHARED_STREAM ? 0 : core->streams[s].serial;
}

/* What chunks may occupy now: the budget less what the program took past us and others take. */
uint64_t sl_core_budget(const struct sl_core *core);

/* From now on there is something to plan, and it matters how long launches take. */
void sl_core_come_under_pressure(struct sl_core *core);

/* Appends a symbol to the present: feeds the predictor, drops the schedule on a surprise, counts iterations.
 * `stream`: the number of the one that it belongs to. */
void sl_core_feed(struct sl_core *core, sl_symbol symbol, uint32_t stream);

/* What is expected to be the stream's next symbol. */
static inline sl_symbol sl_core_expected(const struct sl_core *core, uint32_t stream)
{
    return core->woven ? sl_weave_expected(core->weave, stream) : sl_predictor_expected(core->predictor);
}
/* How many symbols are expected to come again, or, `horizon`, what to look ahead by; 0: nothing is. */
size_t sl_core_period(const struct sl_core *core, bool horizon);
/* What was foreseen of all symbols. */
struct sl_predictor_counts sl_core_foreseen(const struct sl_core *core);

/* Forgets what the program did, where tables have reached their bounds. */
void sl_core_forget(struct sl_core *core);

/* The program went other ways than the plan, which still holds: the next one is made soon, but not too soon
 * after it. */
void sl_core_plan_soon(struct sl_core *core);

/* Drops the schedule: what is planned is not issued any more. */
void sl_core_drop_schedule(struct sl_core *core);

/* Where tensors end, from all accesses. Not more often than the launches since the last time pay for: a
 * program that always does something new would else look at all that it ever did, again and again. */
void sl_core_learn_extents(struct sl_core *core);

/* Sees to it that there is a plan for what is predicted. core->tick is the launch being begun, whose chunks
 * are seen to. */
void sl_core_plan(struct sl_core *core);

/* For how many symbols what is predicted is believed; SIZE_MAX: no end is in sight. */
size_t sl_core_believed(struct sl_core *core);

/* The newest tick up to which every launch has ended. */
sl_tick sl_core_submitted(const struct sl_core *core);

/* Reads the stalls whose launches have run. */
void sl_core_settle_stalls(struct sl_core *core);

bool sl_core_trace(struct sl_core *core, struct sl_event event);

/* What is said of the run beside the counts, as of now. Caller holds the order lock. */
void sl_core_facts(const struct sl_core *core, struct sl_stats_facts *out);

/* The running core, or NULL. */
struct sl_core *sl_core_running(void);
/* The core after the stop, while its memory is still there; or NULL. */
struct sl_core *sl_core_at_rest(void);

#endif
