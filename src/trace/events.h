/* Fixed-size records that go from the core to the trace, and their texts. */
#ifndef SLUICE_EVENTS_H
#define SLUICE_EVENTS_H

#include "base/types.h"
#include "sluice/trace.h"

/* The fields of each type are those of the file: see enum sluice_trace_type. */
enum sl_event_type {
    SL_EVENT_ALLOC = SLUICE_TRACE_ALLOC,
    SL_EVENT_FREE = SLUICE_TRACE_FREE,
    SL_EVENT_KERNEL = SLUICE_TRACE_KERNEL, /* before the kernel's first launch */
    SL_EVENT_LAUNCH = SLUICE_TRACE_LAUNCH, /* flags: sl_launch_kind | sl_copy_direction << 4 */
    SL_EVENT_ACCESS = SLUICE_TRACE_ACCESS,
    SL_EVENT_MOVE = SLUICE_TRACE_MOVE, /* flags: sl_action_kind | sl_move_cause << 4 */
    SL_EVENT_STALL = SLUICE_TRACE_STALL,
    SL_EVENT_BUDGET = SLUICE_TRACE_BUDGET, /* the first record */
    SL_EVENT_ITERATION = SLUICE_TRACE_ITERATION,
    SL_EVENT_GAP = SLUICE_TRACE_GAP, /* written by the trace itself */
    SL_EVENT_TRANSFER = SLUICE_TRACE_TRANSFER,
    SL_EVENT_LINK = SLUICE_TRACE_LINK,
    SL_EVENT_DURATION = SLUICE_TRACE_DURATION,
    SL_EVENT_SYNC = SLUICE_TRACE_SYNC,
    SL_EVENT_ERROR = SLUICE_TRACE_ERROR,
    SL_EVENT_MARK = SLUICE_TRACE_MARK,
    SL_EVENT_SITE = SLUICE_TRACE_SITE,
    SL_EVENT_MODULE = SLUICE_TRACE_MODULE,
    SL_EVENT_METADATA = SLUICE_TRACE_METADATA,
    SL_EVENT_SLAB = SLUICE_TRACE_SLAB,
    SL_EVENT_DECISION = SLUICE_TRACE_DECISION, /* flags: enum sl_decision, see decision.h */
    SL_EVENT_ORDER = SLUICE_TRACE_ORDER,       /* flags: enum sl_order_kind */
    SL_EVENT_PYTHON = SLUICE_TRACE_PYTHON,
    SL_EVENT_NAME = SLUICE_TRACE_NAME,
    SL_EVENT_MESSAGE = SLUICE_TRACE_MESSAGE, /* flags: enum sl_message_kind */
    SL_EVENT_THREAD = SLUICE_TRACE_THREAD,
};

enum sl_gap_kind { SL_GAP_FULL, SL_GAP_LIMIT, SL_GAP_DAMAGE }; /* the reader produces all but the first */
enum sl_launch_kind {
    SL_LAUNCH_KERNEL,
    SL_LAUNCH_COPY,
    SL_LAUNCH_MEMSET,
    SL_LAUNCH_GRAPH,
    SL_LAUNCH_COLLECTIVE,
};
/* "a memset", for messages. */
static inline const char *sl_launch_kind_text(enum sl_launch_kind kind)
{
    static const char *const texts[] = {"a kernel", "a copy", "a memset", "a graph", "a collective"};
    return (size_t)kind < sizeof texts / sizeof *texts ? texts[kind] : "a launch";
}
enum sl_copy_direction { SL_COPY_UNKNOWN, SL_COPY_IN, SL_COPY_OUT, SL_COPY_ON_DEVICE };
enum { SL_ALLOC_AGAIN = 1, SL_IN_STREAM_ORDER = 2 }; /* flags of allocations and frees */
enum sl_sync_kind { SL_SYNC_CONTEXT, SL_SYNC_STREAM, SL_SYNC_EVENT, SL_SYNC_COPY };
enum sl_order_kind { SL_ORDER_RECORD, SL_ORDER_WAIT };
enum sl_message_kind { SL_MESSAGE_SEND, SL_MESSAGE_RECEIVE };
enum sl_metadata_kind { SL_METADATA_TEXT, SL_METADATA_NUMBER };
enum sl_error_kind { SL_ERROR_ALLOCATION, SL_ERROR_LAUNCH, SL_ERROR_OTHER };
enum sl_mark_source { SL_MARKS_NVTX, SL_MARKS_SLUICE };
enum sl_mark_kind { SL_MARK_PUSH, SL_MARK_POP, SL_MARK_MOMENT, SL_MARK_BEGIN, SL_MARK_END };
enum sl_move_cause {
    SL_CAUSE_PLAN,   /* prefetch, before the launch that needs it */
    SL_CAUSE_DEMAND, /* a launch needed it, and no plan had it */
    SL_CAUSE_LATE,   /* planned, but not issued before the launch that needs it; copies only */
};

struct sl_event {
    uint8_t type, flags;
    uint16_t reserved;
    uint32_t id;
    sl_tick tick;
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    uint64_t a, b, c, d;
    const char *text; /* of types that have one; see sl_intern */
};

/* The core's decisions: fields of a SLUICE_TRACE_DECISION record, and their texts. First the record's flags.
 */
enum sl_decision {
    SL_DECISION_BEGIN,      /* planning begins */
    SL_DECISION_SWITCH,     /* the plan takes effect */
    SL_DECISION_DISCARD,    /* the plan is discarded, before or while it is carried out */
    SL_DECISION_MISPREDICT, /* another symbol came than was predicted */
    SL_DECISION_VICTIMS,    /* which chunks are evicted on demand */
};

/* Why a plan is begun. */
enum sl_begin_reason { SL_BEGIN_ANEW, SL_BEGIN_FOLLOWS, SL_BEGIN_PROFILE };

/* Why a plan is discarded. */
enum sl_cancel_reason {
    SL_CANCEL_MISPREDICTED,
    SL_CANCEL_LACKING, /* only in traces of earlier versions: a launch lacked a planned chunk */
    SL_CANCEL_BUDGET,
    SL_CANCEL_FORGOTTEN, /* tables were full and cleared */
    SL_CANCEL_LATE,      /* its launches were over when it was ready */
    SL_CANCEL_STREAMS,   /* it cannot follow the order of the streams' launches */
    SL_CANCEL_FAILED,    /* it could not be made */
    SL_CANCEL_CHECK,     /* a check failed (base/check.h): its input may be wrong */
};

/* How a symbol differs from the expected one. */
enum sl_difference {
    SL_DIFFERS_KIND,     /* launch, allocation or free */
    SL_DIFFERS_KERNEL,   /* or copy, memset, graph */
    SL_DIFFERS_SHAPE,    /* same kernel: grid, block, or bytes of a copy */
    SL_DIFFERS_ACCESSES, /* number of allocations used */
    SL_DIFFERS_ACCESS,   /* which allocation, or offset in it */
    SL_DIFFERS_SLOT,     /* which slot is allocated or freed */
    SL_DIFFERS_ORDER,    /* predicted, but not by the plan, or only for another stream */
};

/* A short text; "?" for an unknown number. */
const char *sl_decision_text(unsigned decision);
/* The reason in the record's id, for a decision to begin or discard a plan and for a misprediction; NULL for
 * others. */
const char *sl_decision_reason_text(unsigned decision, unsigned reason);

/* Texts that are never freed: records point to them, and the trace's writer reads them later. */
#define SL_INTERN_LONGEST 1023u      /* longer texts are truncated */
#define SL_INTERN_BYTES (4 * SL_MIB) /* of all texts together, with terminators */
#define SL_INTERN_LOST "(too many texts)"

/* The interned copy of `text`: equal texts share one address. Any thread, also in a signal handler or a child
 * after fork; lock-free, allocates nothing; about 50 ns for a short text. When the space is full, every new
 * text becomes SL_INTERN_LOST. NULL for NULL. */
const char *sl_intern(const char *text);

/* The same for texts of which a program may make any number: limited to half of the space, so that room is
 * left for the others. */
const char *sl_intern_some(const char *text);

/* Whether `text` may be a result of these functions: its bytes up to the terminator are readable. */
bool sl_is_interned(const void *text);

#endif
