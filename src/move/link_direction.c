#include "move/link_direction.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/log.h"
#include "base/test_hooks.h"

enum { TURNS_BEFORE_SLEEP = 32 };

unsigned sl_link_direction_patience_s = 60;

static struct sl_kept_movement *at(const struct sl_link_direction *direction, uint64_t sequence)
{
    return &direction->kept[sequence % SL_MOVEMENTS_KEPT];
}

enum sl_status sl_link_direction_init(struct sl_link_direction *direction, const struct sl_backend *backend,
                                      sl_stream stream, enum sl_lock_rank rank)
{
    static _Atomic uint32_t directions;
    direction->number = atomic_fetch_add(&directions, 1) + 1;
    direction->kept = calloc(SL_MOVEMENTS_KEPT, sizeof *direction->kept);
    if (!direction->kept || !sl_lock_init(&direction->lock, rank, false) ||
        !sl_lock_init(&direction->landing, SL_LOCK_LANDING, true))
        return SL_ERR_NO_MEMORY;
    return sl_enqueued_init(&direction->enqueued, backend, stream);
}

void sl_link_direction_close(struct sl_link_direction *direction, const struct sl_backend *backend)
{
    sl_enqueued_close(&direction->enqueued, backend);
    free(direction->kept);
    direction->kept = NULL;
}

/* The oldest movement that is remembered. */
static uint64_t oldest_kept(const struct sl_link_direction *direction)
{
    uint64_t given = atomic_load_explicit(&direction->given, memory_order_acquire);
    return given >= SL_MOVEMENTS_KEPT ? given - SL_MOVEMENTS_KEPT + 1 : 1;
}

/* The last enqueued movement up to this one, or a later one. */
static uint64_t enqueued_by(const struct sl_link_direction *direction, uint64_t sequence)
{
    uint64_t oldest = oldest_kept(direction);
    return atomic_load(&at(direction, sequence > oldest ? sequence : oldest)->enqueued);
}

/* The bytes that movers were given up to this movement, or a later one. */
static uint64_t carried_by(const struct sl_link_direction *direction, uint64_t sequence)
{
    uint64_t oldest = oldest_kept(direction);
    return atomic_load(&at(direction, sequence > oldest ? sequence : oldest)->carried_bytes);
}

bool sl_link_direction_has_room(const struct sl_link_direction *direction, uint64_t sequence)
{
    /* Where all have landed, bytes of one that never did may be missing: it is forgotten. */
    return sl_link_direction_has_landed(direction, sequence) ||
           atomic_load(&direction->landed_bytes) >= carried_by(direction, sequence);
}

static bool is_by_mover(const struct sl_link_direction *direction, uint64_t sequence)
{
    return atomic_load(&at(direction, sequence)->event);
}

static bool has_mover_event(const struct sl_link_direction *direction, uint64_t sequence)
{
    return atomic_load(&direction->given) - sequence < SL_MOVER_EVENTS_KEPT &&
           is_by_mover(direction, sequence);
}

/* Caller holds `landing`. What a mover has carried out is over; for the others the driver has answered. */
static void note_done(struct sl_link_direction *direction)
{
    uint64_t done = atomic_load(&direction->done), issued = atomic_load(&direction->issued);
    uint64_t oldest = oldest_kept(direction), known = atomic_load(&direction->enqueued.done);
    if (done + 1 < oldest && enqueued_by(direction, oldest) > known) return;
    if (done + 1 < oldest && oldest <= issued) done = oldest;
    while (done < issued && enqueued_by(direction, done + 1) <= known) done++;
    atomic_store_explicit(&direction->done, done, memory_order_release);
}

static void note_answers(struct sl_link_direction *direction)
{
    sl_lock(&direction->landing);
    note_done(direction);
    sl_unlock(&direction->landing);
}

void sl_link_direction_set_done(struct sl_link_direction *direction, uint64_t sequence)
{
    if (!SL_CHECK(sequence <= atomic_load(&direction->issued))) return;
    uint64_t enqueued = enqueued_by(direction, sequence);
    /* The next movement takes its place before it is known to be given. */
    if (sequence && atomic_load(&direction->given) + 1 < sequence + SL_MOVEMENTS_KEPT)
        sl_enqueued_set_done(&direction->enqueued, enqueued);
    note_answers(direction);
}

static void tell_waiters(struct sl_link_direction *direction)
{
    atomic_fetch_add(&direction->news, 1);
    syscall(SYS_futex, &direction->news, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static struct sl_landing *landing_at(struct sl_link_direction *direction, uint64_t number)
{
    return &direction->landings[number % (2 * SL_MOVER_EVENTS_KEPT)];
}

/* Caller holds `landing`. */
static void note_landing(struct sl_link_direction *direction, uint64_t sequence, sl_event_handle event)
{
    uint64_t bytes = atomic_load(&direction->landed_bytes) + at(direction, sequence)->bytes;
    *landing_at(direction, direction->landing_count++) = (struct sl_landing){bytes, event};
    atomic_store(&direction->landed_bytes, bytes);
}

/* The place of one that is forgotten, which can be after an end only, is another's. */
void sl_link_direction_landed(struct sl_link_direction *direction, uint64_t sequence, sl_event_handle event)
{
    sl_lock(&direction->landing);
    uint64_t issued = atomic_load(&direction->issued);
    if (sequence >= oldest_kept(direction)) {
        atomic_store(&at(direction, sequence)->event, event);
        at(direction, sequence)->landed = sequence;
        if (event) note_landing(direction, sequence, event);
    }
    while (at(direction, issued + 1)->landed >= issued + 1) issued++;
    atomic_store(&direction->issued, issued); /* before it looks for waiters, who look in the other order */
    note_done(direction);
    sl_unlock(&direction->landing);
    if (atomic_load(&direction->waiters)) tell_waiters(direction);
}

void sl_link_direction_end(struct sl_link_direction *direction)
{
    atomic_store(&direction->ended, true);
    tell_waiters(direction);
}

/* What is waited for. */
typedef bool is_there(const struct sl_link_direction *direction, uint64_t sequence);

static bool has_landed(const struct sl_link_direction *direction, uint64_t sequence)
{
    return sl_link_direction_has_landed(direction, sequence);
}

static void wait_for_news(struct sl_link_direction *direction, uint64_t sequence, is_there *there)
{
    const struct timespec patience = {.tv_sec = sl_link_direction_patience_s};
    SL_TEST_DELAY(LANDING);
    uint32_t seen = atomic_load(&direction->news);
    if (there(direction, sequence) || atomic_load(&direction->ended)) return;
    SL_TEST_DELAY(SLEEP);
    long slept = syscall(SYS_futex, &direction->news, FUTEX_WAIT_PRIVATE, seen, &patience, NULL, 0);
    if (!slept || errno != ETIMEDOUT || atomic_exchange(&direction->ended, true)) return;
    sl_log(SL_LOG_WARN,
           "a movement has waited for %u s, maybe for a kernel that waits for the program: launches do not "
           "wait for movements any more",
           sl_link_direction_patience_s);
}

/* False: that may never be. */
static bool wait_until(struct sl_link_direction *direction, uint64_t sequence, is_there *there)
{
    for (int turn = 0; turn < TURNS_BEFORE_SLEEP; turn++) {
        if (there(direction, sequence)) return true;
        sched_yield();
    }
    atomic_fetch_add(&direction->waiters, 1);
    while (!there(direction, sequence) && !atomic_load(&direction->ended))
        wait_for_news(direction, sequence, there);
    atomic_fetch_sub(&direction->waiters, 1);
    return there(direction, sequence);
}

/* Precondition: the direction's lock is held. */
static uint64_t number_next(struct sl_link_direction *direction, uint64_t enqueued, uint64_t bytes)
{
    uint64_t sequence = atomic_load(&direction->given) + 1;
    /* Whose place it takes. */
    if (sequence > SL_MOVEMENTS_KEPT) wait_until(direction, sequence - SL_MOVEMENTS_KEPT, has_landed);
    sl_lock(&direction->landing);
    atomic_store(&at(direction, sequence)->event, NULL);
    atomic_store(&at(direction, sequence)->enqueued, enqueued);
    at(direction, sequence)->bytes = bytes;
    bytes += atomic_load(&at(direction, sequence - 1)->carried_bytes);
    atomic_store(&at(direction, sequence)->carried_bytes, bytes);
    atomic_store_explicit(&direction->given, sequence, memory_order_release);
    sl_unlock(&direction->landing);
    return sequence;
}

uint64_t sl_link_direction_submitted(struct sl_link_direction *direction, const struct sl_backend *backend,
                                     bool ask, enum sl_status *status)
{
    uint64_t sequence =
        number_next(direction, sl_enqueued_submitted(&direction->enqueued, backend, ask, status), 0);
    sl_link_direction_landed(direction, sequence, NULL);
    return sequence;
}

uint64_t sl_link_direction_claim(struct sl_link_direction *direction, uint64_t bytes)
{
    return number_next(direction, atomic_load(&direction->enqueued.issued), bytes);
}

bool sl_link_direction_has_event(const struct sl_link_direction *direction, uint64_t sequence)
{
    if (sequence < oldest_kept(direction)) return false;
    if (is_by_mover(direction, sequence)) return has_mover_event(direction, sequence);
    return sl_enqueued_has_event(&direction->enqueued, enqueued_by(direction, sequence));
}

sl_event_handle sl_link_direction_event(const struct sl_link_direction *direction, uint64_t sequence)
{
    if (has_mover_event(direction, sequence)) return atomic_load(&at(direction, sequence)->event);
    return sl_enqueued_event(&direction->enqueued, enqueued_by(direction, sequence));
}

static bool is_enqueued(struct sl_link_direction *direction, uint64_t sequence)
{
    sl_lock(&direction->landing);
    bool landed = at(direction, sequence)->landed == sequence;
    sl_unlock(&direction->landing);
    return landed && !atomic_load(&at(direction, sequence)->event);
}

/* What movers have carried out is over. The host waits for their events all the same, because simulated
 * devices with a clock for each thread learn the order from it; once for each thread. */
struct followed {
    uint32_t direction;
    uint64_t sequence, landings;
};

static struct followed *followed_of(const struct sl_link_direction *direction)
{
    enum { DIRECTIONS = 8 };
    static __thread struct followed followed[DIRECTIONS] __attribute__((tls_model("initial-exec")));
    struct followed *slot = &followed[direction->number % DIRECTIONS];
    if (slot->direction != direction->number) *slot = (struct followed){.direction = direction->number};
    return slot;
}

static void follow_movers(const struct sl_link_direction *direction, const struct sl_backend *backend,
                          uint64_t sequence)
{
    struct followed *followed = followed_of(direction);
    uint64_t first = sequence > SL_MOVER_EVENTS_KEPT ? sequence - SL_MOVER_EVENTS_KEPT : 0;
    if (first < followed->sequence) first = followed->sequence;
    for (uint64_t s = first + 1; s <= sequence; s++)
        if (has_mover_event(direction, s))
            backend->event_wait(backend->self, atomic_load(&at(direction, s)->event));
    if (followed->sequence < sequence) followed->sequence = sequence;
}

/* The first landings that carried so many bytes. Where the mover has used an event again, more is waited for;
 * movements decided meanwhile, which may be many that are enqueued, tell nothing about that. */
static void follow_landings(struct sl_link_direction *direction, const struct sl_backend *backend,
                            uint64_t bytes)
{
    sl_event_handle events[SL_MOVER_EVENTS_KEPT];
    uint32_t event_count = 0;
    struct followed *followed = followed_of(direction);
    sl_lock(&direction->landing);
    uint64_t end = direction->landing_count,
             number = end > SL_MOVER_EVENTS_KEPT ? end - SL_MOVER_EVENTS_KEPT : 0;
    if (number < followed->landings) number = followed->landings;
    for (; number < end && (number ? landing_at(direction, number - 1)->bytes : 0) < bytes; number++)
        events[event_count++] = landing_at(direction, number)->event;
    sl_unlock(&direction->landing);
    for (uint32_t e = 0; e < event_count; e++) backend->event_wait(backend->self, events[e]);
    followed->landings = number;
}

/* A stream waits for an event that still is the movement's, even if that is known to be over, for the same
 * reason; and so does a mover that needs its room. */
static bool is_followed(const struct sl_link_direction *direction, uint64_t enqueued)
{
    return enqueued && (!sl_enqueued_known_done(&direction->enqueued, enqueued) ||
                        sl_enqueued_has_event(&direction->enqueued, enqueued));
}

enum sl_status sl_link_direction_wait_room(struct sl_link_direction *direction,
                                           const struct sl_backend *backend, uint64_t sequence)
{
    if (!wait_until(direction, sequence, sl_link_direction_has_room)) return SL_ERR_DRIVER;
    uint64_t enqueued = sequence ? enqueued_by(direction, sequence) : 0;
    enum sl_status status = SL_OK;
    if (is_followed(direction, enqueued))
        status = sl_enqueued_wait(&direction->enqueued, backend, enqueued, NULL);
    if (sequence) follow_landings(direction, backend, carried_by(direction, sequence));
    return status;
}

enum sl_status sl_link_direction_wait(struct sl_link_direction *direction, const struct sl_backend *backend,
                                      uint64_t sequence, const sl_stream *stream)
{
    if (!wait_until(direction, sequence, has_landed) && !is_enqueued(direction, sequence))
        return SL_ERR_DRIVER;
    uint64_t enqueued = enqueued_by(direction, sequence);
    enum sl_status status = SL_OK;
    if (stream ? is_followed(direction, enqueued) : !sl_enqueued_known_done(&direction->enqueued, enqueued))
        status = sl_enqueued_wait(&direction->enqueued, backend, enqueued, stream);
    follow_movers(direction, backend, sequence);
    if (!stream && status == SL_OK) note_answers(direction);
    return status;
}

bool sl_link_direction_ask_done(struct sl_link_direction *direction, const struct sl_backend *backend,
                                uint64_t sequence)
{
    if (sl_link_direction_known_done(direction, sequence)) return true;
    if (!sl_link_direction_has_landed(direction, sequence) ||
        !sl_enqueued_ask_done(&direction->enqueued, backend, enqueued_by(direction, sequence)))
        return false;
    note_answers(direction);
    return sl_link_direction_known_done(direction, sequence);
}
