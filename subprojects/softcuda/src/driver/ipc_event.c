#include "ipc_event.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ipc_file.h"
#include "liveness.h"
#include "queue.h"

#define PAST 16 /* number of an event's last records that are kept */
#define HEAD_START 4096
#define LOOK_MS 100

/* A record. All members are atomic. */
struct record {
    uint64_t owner;           /* process that made it (liveness.h) */
    uint64_t executed, timed; /* the last generation that was executed, and that got its time */
    uint64_t end_ns;          /* of `timed` */
};

struct slot {
    _Alignas(64) uint64_t recorded; /* atomic: number of records */
    uint32_t bell;                  /* atomic futex: incremented when a record changes */
    uint32_t used;                  /* used by the owner only */
    struct record records[PAST];    /* generation g is at g % PAST */
};
#define SLOTS ((SC_IPC_HEAD_BYTES - HEAD_START) / sizeof(struct slot))

struct sc_ipc_event {
    unsigned refs;           /* atomic: executing threads hold references */
    bool is_own;             /* the slot belongs to this process */
    uint64_t generation;     /* of the last record by this process */
    struct sc_ipc_file file; /* of the other process */
    uint32_t number;
    struct slot *slot;
};

/* The contents of a CUipcEventHandle. */
struct handle {
    struct sc_ipc_name name;
    uint32_t number, unused;
};
_Static_assert(sizeof(struct handle) <= sizeof(CUipcEventHandle), "it has to fit");

static struct slot *slot_of(const struct sc_ipc_file *file, uint32_t number)
{
    return (struct slot *)((char *)file->head + HEAD_START) + number;
}

static struct sc_ipc_event *event_of(const struct sc_ipc_file *file, uint32_t number)
{
    struct sc_ipc_event *event = calloc(1, sizeof *event);
    if (event)
        *event = (struct sc_ipc_event){
            .refs = 1, .file.file = -1, .number = number, .slot = slot_of(file, number)};
    return event;
}

struct sc_ipc_event *sc_ipc_event_new(void)
{
    struct sc_ipc_file *own = sc_ipc_file_own();
    uint32_t number = 0;
    while (own && number < SLOTS && slot_of(own, number)->used) number++;
    struct sc_ipc_event *event = own && number < SLOTS ? event_of(own, number) : NULL;
    if (!event) return NULL;
    memset(event->slot, 0, sizeof *event->slot);
    event->slot->used = 1;
    event->is_own = true;
    return event;
}

static void hold(struct sc_ipc_event *event)
{
    __atomic_add_fetch(&event->refs, 1, __ATOMIC_RELAXED);
}

void sc_ipc_event_unref(struct sc_ipc_event *event)
{
    if (!event || __atomic_sub_fetch(&event->refs, 1, __ATOMIC_ACQ_REL)) return;
    if (event->is_own)
        event->slot->used = 0;
    else
        sc_ipc_file_close(&event->file);
    free(event);
}

static struct record *record_of(struct slot *slot, uint64_t generation)
{
    return &slot->records[generation % PAST];
}

static void futex(uint32_t *bell, int operation, uint32_t value, const struct timespec *timeout)
{
    syscall(SYS_futex, bell, operation, value, timeout, NULL, 0);
}

static void ring(struct slot *slot)
{
    __atomic_add_fetch(&slot->bell, 1, __ATOMIC_SEQ_CST);
    futex(&slot->bell, FUTEX_WAKE, INT_MAX, NULL);
}

static void sleep_until_rung(struct slot *slot, uint32_t bell, unsigned milliseconds)
{
    struct timespec timeout = {.tv_nsec = (long)milliseconds * 1000000};
    futex(&slot->bell, FUTEX_WAIT, bell, &timeout);
}

static uint32_t bell_of(const struct slot *slot)
{
    return __atomic_load_n(&slot->bell, __ATOMIC_SEQ_CST);
}

/* A record that later ones have overwritten counts as executed. */
static bool is_executed(struct slot *slot, uint64_t generation)
{
    return __atomic_load_n(&record_of(slot, generation)->executed, __ATOMIC_ACQUIRE) >= generation;
}

static bool is_timed(struct slot *slot, uint64_t generation, uint64_t *end_ns)
{
    struct record *record = record_of(slot, generation);
    if (__atomic_load_n(&record->timed, __ATOMIC_ACQUIRE) < generation) return false;
    *end_ns = __atomic_load_n(&record->end_ns, __ATOMIC_RELAXED);
    return true;
}

static bool is_gone(struct slot *slot, uint64_t generation)
{
    struct sc_watched watched;
    sc_liveness_watch(__atomic_load_n(&record_of(slot, generation)->owner, __ATOMIC_RELAXED), &watched);
    bool gone = sc_liveness_is_dead(&watched);
    sc_liveness_forget(&watched);
    return gone;
}

/* --- operations */

struct token {
    struct sc_ipc_event *event; /* a reference */
    struct slot *slot;
    uint64_t generation;
    uint64_t ready_ns;
};

static void *begin(const void *parameters)
{
    const struct sc_ipc_work *work = parameters;
    struct token *token = malloc(sizeof *token);
    if (!token) return NULL;
    hold(work->event);
    *token = (struct token){.event = work->event, .slot = work->event->slot, .generation = work->generation};
    return token;
}

static void end(void *opaque)
{
    sc_ipc_event_unref(((struct token *)opaque)->event);
    free(opaque);
}

static bool run_record(struct sc_native_launch *launch, void *opaque)
{
    (void)launch;
    struct token *token = opaque;
    __atomic_store_n(&record_of(token->slot, token->generation)->executed, token->generation,
                     __ATOMIC_RELEASE);
    ring(token->slot);
    return true;
}

static void arrive_record(void *opaque, uint64_t ready_ns, uint64_t busy_ns)
{
    (void)busy_ns;
    struct token *token = opaque;
    struct record *record = record_of(token->slot, token->generation);
    token->ready_ns = ready_ns;
    __atomic_store_n(&record->end_ns, ready_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&record->timed, token->generation, __ATOMIC_RELEASE);
    ring(token->slot);
}

static enum sc_meeting meet_record(void *opaque, unsigned patience_ms, uint64_t *start_ns, uint64_t *end_ns)
{
    (void)patience_ms;
    *start_ns = *end_ns = ((struct token *)opaque)->ready_ns;
    return SC_MET;
}

static bool run_wait(struct sc_native_launch *launch, void *opaque)
{
    (void)launch;
    struct token *token = opaque;
    for (;;) {
        uint32_t bell = bell_of(token->slot);
        if (is_executed(token->slot, token->generation)) return true;
        if (is_gone(token->slot, token->generation)) return is_executed(token->slot, token->generation);
        sleep_until_rung(token->slot, bell, LOOK_MS);
    }
}

static void arrive_wait(void *opaque, uint64_t ready_ns, uint64_t busy_ns)
{
    (void)busy_ns;
    ((struct token *)opaque)->ready_ns = ready_ns;
}

static enum sc_meeting meet_wait(void *opaque, unsigned patience_ms, uint64_t *start_ns, uint64_t *end_ns)
{
    struct token *token = opaque;
    uint32_t bell = bell_of(token->slot);
    uint64_t there_ns;
    bool timed = is_timed(token->slot, token->generation, &there_ns);
    if (!timed && patience_ms) {
        sleep_until_rung(token->slot, bell, patience_ms);
        timed = is_timed(token->slot, token->generation, &there_ns);
        /* A process that died before it published its time never will. */
        if (!timed && is_gone(token->slot, token->generation)) {
            there_ns = 0;
            timed = true;
        }
    }
    if (!timed) return SC_MEETING_ELSEWHERE;
    *start_ns = *end_ns = there_ns > token->ready_ns ? there_ns : token->ready_ns;
    return SC_MET;
}

const struct sc_native_peers sc_ipc_record_peers = {begin, run_record, arrive_record, meet_record, end};
const struct sc_native_peers sc_ipc_wait_peers = {begin, run_wait, arrive_wait, meet_wait, end};

static CUresult make_op(struct sc_ipc_event *event, struct sc_context *context, enum sc_op_kind kind,
                        const struct sc_native_peers *peers, uint64_t generation, struct sc_op **out)
{
    struct sc_op *op = sc_op_new(kind, context);
    if (!op) return CUDA_ERROR_OUT_OF_MEMORY;
    hold(event);
    op->ipc = (struct sc_ipc_work){event, generation};
    op->peers = peers;
    *out = op;
    return CUDA_SUCCESS;
}

CUresult sc_ipc_event_record(struct sc_ipc_event *event, struct sc_context *context, struct sc_op **out)
{
    CUresult result = make_op(event, context, SC_OP_RECORD, &sc_ipc_record_peers, 0, out);
    if (result) return result;
    uint64_t generation = __atomic_add_fetch(&event->slot->recorded, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&record_of(event->slot, generation)->owner, sc_liveness_self(), __ATOMIC_RELAXED);
    event->generation = (*out)->ipc.generation = generation;
    return CUDA_SUCCESS;
}

static uint64_t last_record(const struct sc_ipc_event *event)
{
    return __atomic_load_n(&event->slot->recorded, __ATOMIC_SEQ_CST);
}

bool sc_ipc_event_is_elsewhere(const struct sc_ipc_event *event)
{
    return last_record(event) != event->generation;
}

CUresult sc_ipc_event_wait(struct sc_ipc_event *event, struct sc_context *context, struct sc_op **out)
{
    uint64_t generation = last_record(event);
    *out = NULL;
    if (generation == event->generation) return CUDA_SUCCESS;
    return make_op(event, context, SC_OP_WAIT, &sc_ipc_wait_peers, generation, out);
}

/* --- the host */

static void pass_time(uint64_t to_ns)
{
    struct sc_thread *thread = sc_self();
    uint64_t now_ns = thread->clock_ns + thread->pending_ns;
    if (to_ns > now_ns) thread->pending_ns += to_ns - now_ns;
}

bool sc_ipc_event_ended(struct sc_ipc_event *event)
{
    uint64_t generation = last_record(event), end_ns;
    if (!is_executed(event->slot, generation) || !is_timed(event->slot, generation, &end_ns)) return false;
    pass_time(end_ns);
    return true;
}

CUresult sc_ipc_event_synchronize(struct sc_ipc_event *event)
{
    uint64_t generation = last_record(event), end_ns = 0;
    struct slot *slot = event->slot;
    bool gone = false;
    hold(event);
    sc_unlock();
    for (;;) {
        uint32_t bell = bell_of(slot);
        if ((is_executed(slot, generation) && is_timed(slot, generation, &end_ns)) || gone) break;
        gone = is_gone(slot, generation);
        if (!gone) sleep_until_rung(slot, bell, LOOK_MS);
    }
    bool executed = is_executed(slot, generation);
    sc_lock();
    pass_time(end_ns);
    sc_ipc_event_unref(event);
    return executed ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_TIMEOUT;
}

/* --- handles */

CUresult CUDAAPI cuIpcGetEventHandle(CUipcEventHandle *out, CUevent event_handle)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    if (!sc_handle_is(event_handle, SC_HANDLE_EVENT)) return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    const struct sc_ipc_event *event = ((struct sc_event *)event_handle)->ipc;
    if (!event || !event->is_own) return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    struct handle handle = {.name = sc_ipc_file_own()->name, .number = event->number};
    memset(out, 0, sizeof *out);
    memcpy(out, &handle, sizeof handle);
    return sc_leave(CUDA_SUCCESS);
}

static struct sc_ipc_event *open_event(const struct handle *handle)
{
    struct sc_ipc_file file;
    if (handle->number >= SLOTS || !sc_ipc_file_open(&handle->name, &file)) return NULL;
    struct sc_ipc_event *event = event_of(&file, handle->number);
    if (event)
        event->file = file;
    else
        sc_ipc_file_close(&file);
    return event;
}

CUresult CUDAAPI cuIpcOpenEventHandle(CUevent *out, CUipcEventHandle wanted)
{
    struct handle handle;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    memcpy(&handle, &wanted, sizeof handle);
    CUresult result = sc_enter(SC_NEED_SAFE);
    if (result) return result;
    if (handle.name.process == getpid()) return sc_leave(CUDA_ERROR_INVALID_CONTEXT);
    struct sc_ipc_event *event = open_event(&handle);
    if (!event) return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    struct sc_event *made = sc_event_new(CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS, event);
    if (!made) {
        sc_ipc_event_unref(event);
        return sc_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    *out = (CUevent)made;
    return sc_leave(CUDA_SUCCESS);
}
