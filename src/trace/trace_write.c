#include "trace/trace_write.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/forked.h"
#include "base/log.h"
#include "base/signals.h"
#include "recording/recording.h"

/* --- a thread's ring */

static struct sl_event gap_event(const struct sl_ring *ring, uint64_t lost, uint64_t time_ns)
{
    return (struct sl_event){.type = SL_EVENT_GAP,
                             .tick = __atomic_load_n(&ring->lost_tick, __ATOMIC_RELAXED),
                             .time_ns = time_ns,
                             .a = lost};
}

bool sl_ring_push(struct sl_ring *ring, const struct sl_event *event)
{
    uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
    uint64_t lost = __atomic_load_n(&ring->lost, __ATOMIC_RELAXED), needed = lost ? 2 : 1;
    bool frequent = event->type == SL_EVENT_LAUNCH || event->type == SL_EVENT_ACCESS;
    uint64_t room = frequent ? SL_RING_SLOTS - SL_RING_KEPT : SL_RING_SLOTS;
    if (head - ring->tail_seen + needed > room) {
        ring->tail_seen = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
        if (head - ring->tail_seen + needed > room) return false;
    }
    if (lost) {
        ring->slots[head++ % SL_RING_SLOTS] = gap_event(ring, lost, event->time_ns);
        __atomic_store_n(&ring->lost, 0, __ATOMIC_RELAXED);
    }
    ring->slots[head % SL_RING_SLOTS] = *event;
    __atomic_store_n(&ring->head, head + 1, __ATOMIC_RELEASE);
    return true;
}

void sl_ring_lose(struct sl_ring *ring, sl_tick tick)
{
    uint64_t lost = __atomic_load_n(&ring->lost, __ATOMIC_RELAXED);
    if (!lost) __atomic_store_n(&ring->lost_tick, tick, __ATOMIC_RELAXED);
    __atomic_store_n(&ring->lost, lost + 1, __ATOMIC_RELAXED);
}

const struct sl_event *sl_ring_peek(const struct sl_ring *ring)
{
    uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
    if (tail == __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE)) return NULL;
    return &ring->slots[tail % SL_RING_SLOTS];
}

void sl_ring_pop(struct sl_ring *ring)
{
    uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
    __atomic_store_n(&ring->tail, tail + 1, __ATOMIC_RELEASE);
}

bool sl_ring_take_lost(struct sl_ring *ring, uint64_t time_ns, struct sl_event *out)
{
    uint64_t lost = __atomic_exchange_n(&ring->lost, 0, __ATOMIC_RELAXED);
    if (!lost) return false;
    *out = gap_event(ring, lost, time_ns);
    return true;
}

/* --- the trace */

enum {
    RING_MAX = 512,           /* threads that record at the same time */
    FLUSH_NS = 500 * 1000000, /* a record is in the file at most this much later */
};

/* Mapped and never unmapped: another thread of the program may be inside sl_trace_push at any time, even
 * after the close. */
struct sl_trace {
    uint64_t generation;
    pid_t process;
    enum sl_trace_full full;
    bool threads;
    uint32_t wake;    /* futex: raised when the writer has work */
    uint32_t stopped; /* no thread drains the rings */
    uint32_t stop;    /* asks the writer to end */
    uint32_t ring_count, thread_count;
    uint64_t unplaced; /* records of threads without a ring */
    struct sl_ring *rings[RING_MAX];
    pthread_t writer;

    const struct sl_recording *recording;
    struct sl_trace_sink sink; /* used by the writer only, except for the lap */
};

/* The calling thread's ring and its trace. Traces have numbers because one may follow another. */
static __thread struct {
    uint64_t generation;
    struct sl_ring *ring;
} mine __attribute__((tls_model("initial-exec")));

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_key;
static bool have_key;

static void thread_ends(void *ring)
{
    mine.generation = 0;
    __atomic_store_n(&((struct sl_ring *)ring)->state, SL_RING_ORPHAN, __ATOMIC_RELEASE);
}

static void make_key(void)
{
    have_key = pthread_key_create(&thread_key, thread_ends) == 0;
}

static void futex_wait(uint32_t *word, uint32_t seen, long ns)
{
    struct timespec timeout = {.tv_nsec = ns};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, &timeout, NULL, 0);
}

static void futex_raise(uint32_t *word)
{
    __atomic_fetch_add(word, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void *map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* --- the writer's thread, the only one that touches the sink */

static void drain_ring(struct sl_trace *trace, struct sl_ring *ring, bool last)
{
    /* Read before the records: an orphan's producer has written its last record. */
    bool orphan = __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) == SL_RING_ORPHAN;
    const struct sl_event *event;
    uint32_t thread = 0;
    /* Bounded, so that a thread that records faster than we write does not starve the others. */
    for (uint64_t n = 0; n < SL_RING_SLOTS && (event = sl_ring_peek(ring)); n++) {
        thread = __atomic_load_n(&ring->thread, __ATOMIC_RELAXED);
        trace->recording->sink_add(&trace->sink, thread, event);
        sl_ring_pop(ring);
    }
    struct sl_event gap;
    if ((orphan || last) && sl_ring_take_lost(ring, sl_clock_ns(CLOCK_MONOTONIC), &gap)) {
        thread = __atomic_load_n(&ring->thread, __ATOMIC_RELAXED);
        trace->recording->sink_add(&trace->sink, thread, &gap);
    }
    trace->recording->sink_flush(&trace->sink, thread);
    if (trace->full == SL_TRACE_WAIT) futex_raise(&ring->drained);
    if (orphan) __atomic_store_n(&ring->state, SL_RING_FREE, __ATOMIC_RELEASE);
}

static void drain_all(struct sl_trace *trace, bool last)
{
    uint32_t count = __atomic_load_n(&trace->ring_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count && i < RING_MAX; i++) {
        struct sl_ring *ring = __atomic_load_n(&trace->rings[i], __ATOMIC_ACQUIRE);
        if (ring) drain_ring(trace, ring, last);
    }
}

static void write_end(struct sl_trace *trace)
{
    uint64_t now = sl_clock_ns(CLOCK_MONOTONIC),
             unplaced = __atomic_load_n(&trace->unplaced, __ATOMIC_RELAXED);
    struct sl_event gap = {.type = SL_EVENT_GAP, .time_ns = now, .a = unplaced};
    trace->recording->sink_begin_group(&trace->sink); /* makes the end readable if the rest is damaged */
    if (unplaced) trace->recording->sink_add(&trace->sink, 0, &gap);
    struct sl_event end = {
        .type = SLUICE_TRACE_END, .time_ns = now, .a = trace->sink.records, .b = trace->sink.lost};
    trace->recording->sink_add(&trace->sink, 0, &end);
    trace->recording->sink_flush(&trace->sink, 0);
}

static void *writer_main(void *argument)
{
    struct sl_trace *trace = argument;
    for (;;) {
        uint32_t seen = __atomic_load_n(&trace->wake, __ATOMIC_ACQUIRE);
        bool stop = __atomic_load_n(&trace->stop, __ATOMIC_ACQUIRE);
        drain_all(trace, stop);
        if (stop) break;
        futex_wait(&trace->wake, seen, FLUSH_NS);
    }
    write_end(trace);
    return NULL;
}

enum sl_status sl_trace_open(const char *path, const struct sl_trace_options *options, struct sl_trace **out)
{
    static uint64_t generations;
    const char *why;
    const struct sl_recording *recording = sl_recording(&why);
    if (!recording) {
        sl_log(SL_LOG_WARN, "cannot record the trace %s: %s", path, why);
        return SL_ERR_UNSUPPORTED;
    }
    pthread_once(&key_once, make_key);
    struct sl_trace *trace = map(sizeof(*trace));
    if (!trace || !have_key) {
        sl_log(SL_LOG_WARN, "cannot record the trace %s: out of memory or thread keys", path);
        if (trace) munmap(trace, sizeof(*trace));
        return SL_ERR_NO_MEMORY;
    }
    trace->recording = recording;
    trace->sink.file.fd = -1;
    trace->process = getpid();
    trace->full = options->full;
    trace->threads = options->threads;
    trace->generation = __atomic_add_fetch(&generations, 1, __ATOMIC_RELAXED);
    int error = 0;
    uint64_t limit_bytes = options->limit_bytes;
    if (limit_bytes && limit_bytes < SL_TRACE_LIMIT_LEAST) limit_bytes = SL_TRACE_LIMIT_LEAST;
    if (recording->sink_open(&trace->sink, path, limit_bytes) != SL_OK) error = errno;
    if (!error) error = sl_thread_start(&trace->writer, "sluice-trace", writer_main, trace);
    if (error) {
        sl_log(SL_LOG_WARN, "cannot record the trace %s: %s", path,
               error == EWOULDBLOCK ? "another process writes it (%p in the name gives each its own)"
                                    : sl_file_problem(recording->trace_kind, error));
        trace->recording->sink_close(&trace->sink);
        munmap(trace, sizeof(*trace));
        return SL_ERR_IO;
    }
    *out = trace;
    return SL_OK;
}

uint32_t sl_trace_lap(const struct sl_trace *trace)
{
    return __atomic_load_n(&trace->sink.lap, __ATOMIC_ACQUIRE);
}

static bool is_ours(const struct sl_trace *trace)
{
    return trace->process == getpid();
}

void sl_trace_close(struct sl_trace *trace)
{
    if (!trace || __atomic_load_n(&trace->stopped, __ATOMIC_ACQUIRE)) return;
    if (!is_ours(trace)) {
        sl_trace_abandon(trace);
        return;
    }
    __atomic_store_n(&trace->stop, 1, __ATOMIC_RELEASE);
    futex_raise(&trace->wake);
    pthread_join(trace->writer, NULL);
    __atomic_store_n(&trace->stopped, 1, __ATOMIC_RELEASE);
    trace->recording->sink_close(&trace->sink);
}

void sl_trace_abandon(struct sl_trace *trace)
{
    if (!trace) return;
    __atomic_store_n(&trace->stopped, 1, __ATOMIC_RELEASE);
    trace->recording->sink_close(&trace->sink); /* closes the child's copy of the descriptor only */
}

static struct sl_ring *claim_free_ring(struct sl_trace *trace, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < RING_MAX; i++) {
        struct sl_ring *ring = __atomic_load_n(&trace->rings[i], __ATOMIC_ACQUIRE);
        uint32_t expected = SL_RING_FREE;
        if (ring && __atomic_compare_exchange_n(&ring->state, &expected, SL_RING_OWNED, false,
                                                __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return ring;
    }
    return NULL;
}

static __attribute__((noinline)) struct sl_ring *attach(struct sl_trace *trace)
{
    struct sl_ring *ring = claim_free_ring(trace, __atomic_load_n(&trace->ring_count, __ATOMIC_ACQUIRE));
    uint32_t thread = __atomic_add_fetch(&trace->thread_count, 1, __ATOMIC_RELAXED);
    if (ring) __atomic_store_n(&ring->thread, thread, __ATOMIC_RELAXED);
    if (!ring && __atomic_load_n(&trace->ring_count, __ATOMIC_RELAXED) < RING_MAX) {
        ring = map(sizeof(*ring));
        uint32_t index = ring ? __atomic_fetch_add(&trace->ring_count, 1, __ATOMIC_ACQ_REL) : RING_MAX;
        if (index >= RING_MAX) {
            if (ring) munmap(ring, sizeof(*ring));
            ring = NULL;
        } else {
            ring->state = SL_RING_OWNED;
            ring->thread = thread;
            __atomic_store_n(&trace->rings[index], ring, __ATOMIC_RELEASE);
        }
    }
    mine.generation = trace->generation;
    mine.ring = ring;
    pthread_setspecific(thread_key, ring);
    if (ring && trace->threads)
        sl_ring_push(ring, &(struct sl_event){.type = SL_EVENT_THREAD,
                                              .time_ns = sl_clock_ns(CLOCK_MONOTONIC),
                                              .a = (uint64_t)syscall(SYS_gettid)});
    return ring;
}

/* The ring is full: waits for the writer, or drops the record. */
static __attribute__((noinline)) bool push_to_full(struct sl_trace *trace, struct sl_ring *ring,
                                                   const struct sl_event *event)
{
    while (trace->full == SL_TRACE_WAIT && !__atomic_load_n(&trace->stop, __ATOMIC_ACQUIRE) &&
           !__atomic_load_n(&trace->stopped, __ATOMIC_ACQUIRE) && is_ours(trace)) {
        uint32_t seen = __atomic_load_n(&ring->drained, __ATOMIC_ACQUIRE);
        if (sl_ring_push(ring, event)) return true;
        futex_raise(&trace->wake);
        futex_wait(&ring->drained, seen, FLUSH_NS);
    }
    sl_ring_lose(ring, event->tick);
    return false;
}

bool sl_trace_push(struct sl_trace *trace, const struct sl_event *event)
{
    if (!trace) return false;
    struct sl_ring *ring = mine.ring;
    if (mine.generation != trace->generation) ring = attach(trace);
    if (!ring) {
        __atomic_fetch_add(&trace->unplaced, 1, __ATOMIC_RELAXED);
        return false;
    }
    uint64_t before = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
    if (!sl_ring_push(ring, event)) return push_to_full(trace, ring, event);
    /* Wakes the writer when a half of the ring is full, before its timer does. */
    uint64_t now = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
    if (before / (SL_RING_SLOTS / 2) != now / (SL_RING_SLOTS / 2)) futex_raise(&trace->wake);
    return true;
}

/* --- records without the order lock */

static struct target {
    struct sl_trace *_Atomic trace; /* NULL: none, and in a forked child */
    const _Atomic sl_tick *_Atomic tick;
} SL_OWN_PAGES target;

void sl_trace_emit_to(struct sl_trace *trace, const _Atomic sl_tick *tick)
{
    sl_forget_in_children(&target, sizeof target);
    if (trace)
        atomic_store(&target.tick, tick); /* a thread inside sl_trace_emit may still read the old one */
    atomic_store(&target.trace, trace);
}

bool sl_trace_emits(void)
{
    return atomic_load_explicit(&target.trace, memory_order_acquire) != NULL;
}

bool sl_trace_emit(struct sl_event event)
{
    struct sl_trace *trace = atomic_load_explicit(&target.trace, memory_order_acquire);
    if (!trace) return false;
    if (!event.tick) event.tick = atomic_load_explicit(atomic_load(&target.tick), memory_order_relaxed);
    if (!event.time_ns) event.time_ns = sl_clock_ns(CLOCK_MONOTONIC);
    return sl_trace_push(trace, &event);
}
