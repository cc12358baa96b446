#include "move/migrator.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/log.h"
#include "base/test_hooks.h"
#include "device/backend.h"
#include "device/device_clock.h"
#include "move/transfer.h"

#define MOVEMENTS_BETWEEN_TIMES 4096 /* without a trace, between two timed series */

enum sl_status sl_migrator_init(struct sl_migrator *migrator, const struct sl_backend *backend,
                                struct sl_arena *arena, struct sl_stats *stats, const _Atomic int *captures)
{
    memset(migrator, 0, sizeof *migrator);
    migrator->backend = backend;
    migrator->arena = arena;
    migrator->stats = stats;
    migrator->captures = captures;
    migrator->link_in_bytes_per_s = migrator->link_out_bytes_per_s = migrator->assumed_bytes_per_s =
        SL_ASSUMED_LINK_BYTES_PER_S;
    migrator->link_sharers = 1;
    if (!sl_lock_init(&migrator->times, SL_LOCK_TIMES, true)) return SL_ERR_NO_MEMORY;
    migrator->left_bytes = calloc(SL_EVENTS_MOST, sizeof *migrator->left_bytes);
    if (!migrator->left_bytes) return SL_ERR_NO_MEMORY;
    enum sl_status status = sl_behind_init(&migrator->behind, backend, captures);
    if (status) return status;
    status = sl_link_direction_init(&migrator->in, backend, backend->stream_in(backend->self), SL_LOCK_IN);
    if (status) return status;
    return sl_link_direction_init(&migrator->out, backend, backend->stream_out(backend->self), SL_LOCK_OUT);
}

void sl_migrator_close(struct sl_migrator *migrator, bool device_gone)
{
    struct sl_link_direction *directions[] = {&migrator->in, &migrator->out};
    for (int d = 0; d < 2; d++) sl_transfers_delete(directions[d]->transfers, device_gone);
    sl_device_clock_delete(migrator->clock, device_gone);
    for (int d = 0; d < 2; d++)
        sl_link_direction_close(directions[d], device_gone ? NULL : migrator->backend);
    sl_behind_close(&migrator->behind, device_gone);
    sl_movers_delete(migrator->movers);
    free((void *)migrator->left_bytes);
    memset(migrator, 0, sizeof *migrator);
}

void sl_migrator_time(struct sl_migrator *migrator, struct sl_trace *trace)
{
    migrator->clock = sl_device_clock_new(migrator->backend, migrator->in.enqueued.stream);
    migrator->traced = trace != NULL;
    if (!migrator->clock) return;
    migrator->in.transfers = sl_transfers_new(migrator->backend, migrator->clock, trace, &migrator->link.in,
                                              migrator->in.enqueued.stream);
    migrator->out.transfers = sl_transfers_new(migrator->backend, migrator->clock, trace, &migrator->link.out,
                                               migrator->out.enqueued.stream);
}

void sl_migrator_settle_times(struct sl_migrator *migrator, struct sl_link_direction *direction)
{
    if (!direction->transfers || atomic_load(migrator->captures)) return;
    sl_lock(&migrator->times);
    sl_transfers_settle(direction->transfers);
    sl_unlock(&migrator->times);
}

/* Times both directions at once, to see how they share the link. The clock gets a new anchor in front of
 * them, because an old one would not be exact. Precondition: both locks are held. */
static void time_some(struct sl_migrator *migrator)
{
    uint64_t issued = atomic_load(&migrator->in.given) + atomic_load(&migrator->out.given);
    if (migrator->timed_at && issued - migrator->timed_at < MOVEMENTS_BETWEEN_TIMES) return;
    migrator->timed_at = issued + 1;
    atomic_store(&migrator->wants_anchor, true);
    sl_transfers_time_some(migrator->in.transfers);
    sl_transfers_time_some(migrator->out.transfers);
}

/* Fetches first: the anchor is in front of them. */
static void measure(struct sl_migrator *migrator)
{
    if (atomic_load(migrator->captures)) return;
    sl_transfers_settle(migrator->in.transfers);
    if (!migrator->traced && !sl_transfers_settled(migrator->in.transfers)) return;
    sl_transfers_settle(migrator->out.transfers);
    if (!migrator->traced && sl_transfers_settled(migrator->out.transfers)) time_some(migrator);
}

void sl_migrator_lock(struct sl_migrator *migrator)
{
    sl_lock(&migrator->out.lock);
    sl_lock(&migrator->in.lock);
}

void sl_migrator_unlock(struct sl_migrator *migrator)
{
    sl_unlock(&migrator->in.lock);
    sl_unlock(&migrator->out.lock);
}

bool sl_migrator_try_lock(struct sl_migrator *migrator, int tries)
{
    for (; tries > 0; tries--) {
        if (sl_try_lock(&migrator->out.lock)) {
            if (sl_try_lock(&migrator->in.lock)) return true;
            sl_unlock(&migrator->out.lock);
        }
        if (tries > 1) sched_yield();
    }
    return false;
}

void sl_migrator_measure(struct sl_migrator *migrator, uint64_t *in_bytes_per_s, uint64_t *out_bytes_per_s)
{
    if (!migrator->in.transfers || !migrator->out.transfers || !sl_migrator_try_lock(migrator, 1)) return;
    sl_lock(&migrator->times);
    measure(migrator);
    sl_link_speeds(&migrator->link, in_bytes_per_s, out_bytes_per_s);
    sl_unlock(&migrator->times);
    sl_migrator_unlock(migrator);
}

uint64_t sl_migrator_link_alone(const struct sl_migrator *migrator)
{
    uint64_t in = sl_transfers_speed(migrator->in.transfers),
             out = sl_transfers_speed(migrator->out.transfers);
    return in > out ? in : out;
}

void sl_migrator_share_link(struct sl_migrator *migrator, uint32_t devices)
{
    uint64_t part = SL_ASSUMED_LINK_BYTES_PER_S / (devices ? devices : 1),
             before = migrator->assumed_bytes_per_s;
    if (migrator->link_in_bytes_per_s == before) migrator->link_in_bytes_per_s = part;
    if (migrator->link_out_bytes_per_s == before) migrator->link_out_bytes_per_s = part;
    migrator->assumed_bytes_per_s = part;
    migrator->link_sharers = devices;
}

bool sl_migrator_done(struct sl_migrator *migrator, struct sl_link_direction *direction, uint64_t sequence)
{
    return sl_link_direction_ask_done(direction, migrator->backend, sequence);
}

enum sl_status sl_migrator_wait(struct sl_migrator *migrator, struct sl_link_direction *direction,
                                uint64_t sequence, sl_stream stream)
{
    return sl_link_direction_wait(direction, migrator->backend, sequence, &stream);
}

enum sl_status sl_migrator_wait_host(struct sl_migrator *migrator, struct sl_link_direction *direction,
                                     uint64_t sequence)
{
    return sl_link_direction_wait(direction, migrator->backend, sequence, NULL);
}

/* At most `most` of them. */
static uint32_t list_users(struct sl_migrator *migrator, sl_chunk c, const struct sl_fence *fence,
                           sl_event_handle *events, uint32_t most)
{
    uint64_t users = atomic_load(&sl_arena_record(migrator->arena, c)->users);
    uint32_t count = 0;
    /* Rule 15 of docs/concurrency.md */
    if (!fence || sl_migrator_is_held(migrator)) return 0;
    for (uint64_t rest = users & atomic_load(&fence->streams); rest && count < most; rest &= rest - 1) {
        uint32_t s = (uint32_t)__builtin_ctzll(rest);
        if (sl_behind_is_over(&migrator->behind, fence->behind[s]) || !SL_GUARD(NOTHING_BEHIND_PEERS))
            events[count++] = fence->events[s];
    }
    return count;
}

void sl_migrator_users(struct sl_migrator *migrator, sl_chunk c, struct sl_fence *fence, struct sl_users *out)
{
    out->count = list_users(migrator, c, fence, out->events, SL_MOVEMENT_USERS);
    out->fence = out->count ? fence : NULL;
    if (out->fence) atomic_fetch_add(&fence->holders, 1);
}

void sl_users_let_go(struct sl_users *users)
{
    if (users->fence) atomic_fetch_sub(&users->fence->holders, 1);
    users->fence = NULL;
}

/* Makes the out stream wait for the streams that were seen to use the chunk: evicting it while a kernel uses
 * it is slow. */
static void wait_for_users(struct sl_migrator *migrator, sl_chunk c, const struct sl_fence *fence)
{
    const struct sl_backend *backend = migrator->backend;
    uint64_t fetch = atomic_load(&sl_arena_record(migrator->arena, c)->in_sequence);
    sl_event_handle events[SL_STREAMS];
    if (fetch) sl_migrator_wait(migrator, &migrator->in, fetch, migrator->out.enqueued.stream);
    uint32_t count = list_users(migrator, c, fence, events, SL_STREAMS);
    for (uint32_t e = 0; e < count; e++) /* only for speed */
        backend->stream_wait(backend->self, migrator->out.enqueued.stream, events[e]);
}

/* Rule 15 of docs/concurrency.md */
static bool may_wait_for_peers(const struct sl_waits *waits)
{
    for (uint32_t i = 0; SL_GUARD(NOTHING_BEHIND_PEERS) && i < waits->count; i++)
        if (sl_wait_is_behind(&waits->at[i], 0)) return true;
    return false;
}

static bool is_freed_behind_peers(struct sl_migrator *migrator, const struct sl_chunk_record *chunk)
{
    struct sl_waits waits = {0};
    if (!migrator->frees || !sl_behind_any(&migrator->behind)) return false;
    sl_frees_peek(migrator->frees, chunk->address, chunk->address + migrator->arena->chunk_bytes, &waits);
    bool behind = may_wait_for_peers(&waits);
    sl_waits_end(&waits, migrator->frees);
    return behind;
}

bool sl_migrator_is_behind_peers(struct sl_migrator *migrator, sl_chunk c)
{
    const struct sl_chunk_record *chunk = sl_arena_record(migrator->arena, c);
    return atomic_load(&chunk->content) == SL_CONTENT_RESIDENT_DEAD && is_freed_behind_peers(migrator, chunk);
}

bool sl_migrator_may_discard(struct sl_migrator *migrator, sl_chunk c)
{
    const struct sl_chunk_record *chunk = sl_arena_record(migrator->arena, c);
    return atomic_load(&chunk->content) == SL_CONTENT_DEAD && atomic_load(&chunk->copied) &&
           !atomic_load(&chunk->bytes) && !migrator->keeps_dead && !is_freed_behind_peers(migrator, chunk);
}

/* Rule 13 of docs/concurrency.md. Makes the out stream wait for the frees of all memory in the chunk, whose
 * content is dead and whose discard is announced. False: the chunk must not be discarded, because a free may
 * take long or is not known to be ordered, its point is not recorded yet, or the chunk was taken meanwhile.
 * In the last case its frees may have left the list before they were seen here. */
static bool wait_for_frees(struct sl_migrator *migrator, const struct sl_chunk_record *chunk)
{
    struct sl_waits waits = {0};
    if (!migrator->frees) return true;
    sl_frees_peek(migrator->frees, chunk->address, chunk->address + migrator->arena->chunk_bytes, &waits);
    bool taken = atomic_load(&chunk->bytes) && SL_GUARD(TAKEN_MEANWHILE);
    /* Rule 3 of docs/concurrency.md: recording a point would enqueue into a stream of the program. */
    bool open = sl_waits_are_open(&waits) && SL_GUARD(OPEN_IS_NOT_DISCARDED);
    bool may_wait = !taken && !open && !waits.unsure &&
                    (!waits.count || !(sl_migrator_is_held(migrator) || may_wait_for_peers(&waits)));
    if (may_wait && SL_GUARD(DISCARD_WAITS))
        may_wait = sl_waits_enqueue(&waits, migrator->backend, migrator->out.enqueued.stream) == SL_OK;
    sl_waits_end(&waits, migrator->frees);
    return may_wait;
}

/* Precondition: the direction's lock is held. */
static void tie_clock(struct sl_migrator *migrator, struct sl_link_direction *direction)
{
    if (!sl_device_clock_is_old(migrator->clock)) return;
    bool idle = !atomic_load(migrator->captures) &&
                sl_migrator_done(migrator, direction, atomic_load(&direction->given));
    sl_device_clock_anchor(migrator->clock, direction->enqueued.stream, idle);
}

uint64_t sl_migrator_when(struct sl_migrator *migrator, sl_event_handle event)
{
    return migrator->clock && migrator->traced ? sl_device_clock_when(migrator->clock, event) : 0;
}

void sl_migrator_tie_clock(struct sl_migrator *migrator)
{
    if (!migrator->clock || !migrator->traced || !sl_device_clock_is_old(migrator->clock)) return;
    /* A thread that holds the lock is about to move a chunk, and ties the clock itself. */
    if (!sl_try_lock(&migrator->in.lock)) return;
    tie_clock(migrator, &migrator->in);
    sl_unlock(&migrator->in.lock);
}

/* Call it before the stream is made to wait for the movement's conditions. */
static void begin_timing(struct sl_migrator *migrator, struct sl_link_direction *direction)
{
    if (!direction->transfers) return;
    if (atomic_exchange(&migrator->wants_anchor, false))
        sl_device_clock_anchor(migrator->clock, direction->enqueued.stream, false);
    if (!migrator->traced) return;
    sl_migrator_settle_times(migrator, direction);
    tie_clock(migrator, direction);
}

static bool begin_transfer(struct sl_migrator *migrator, struct sl_link_direction *direction)
{
    if (!direction->transfers) return false;
    sl_lock(&migrator->times);
    bool timed = sl_transfers_begin(direction->transfers);
    sl_unlock(&migrator->times);
    return timed;
}

static void end_transfer(struct sl_migrator *migrator, struct sl_link_direction *direction,
                         const struct sl_event *move, bool whole)
{
    sl_lock(&migrator->times);
    sl_transfers_end(direction->transfers, move, whole);
    sl_unlock(&migrator->times);
}

void sl_migrator_judge(struct sl_migrator *migrator, enum sl_status status)
{
    if (status && !atomic_exchange(&migrator->failed, true))
        sl_log(status == SL_ERR_LOST ? SL_LOG_INFO : SL_LOG_WARN,
               "the driver refused to move memory (%s); data stays where it is from now on",
               sl_status_text(status));
}

/* Ends a movement that was enqueued: records its event and publishes its number. A refused movement has both,
 * too, because other work may already wait for them. */
static void submitted(struct sl_migrator *migrator, struct sl_link_direction *direction,
                      enum sl_status status)
{
    bool ask = !atomic_load(migrator->captures);
    sl_link_direction_submitted(direction, migrator->backend, ask, &status);
    sl_migrator_judge(migrator, status);
}

static enum sl_status let_go(const struct sl_migrator *migrator, enum sl_action_kind kind, uint64_t address,
                             uint64_t bytes)
{
    const struct sl_backend *backend = migrator->backend;
    sl_stream stream = migrator->out.enqueued.stream;
    if (kind == SL_ACTION_DISCARD) return backend->discard(backend->self, address, bytes, stream);
    return backend->evict(backend->self, address, bytes, stream);
}

static _Atomic uint64_t *left_at(const struct sl_migrator *migrator, uint64_t sequence)
{
    return &migrator->left_bytes[sequence % SL_EVENTS_MOST];
}

/* For the next out movement. Precondition: the direction's lock is held. */
static void note_left(struct sl_migrator *migrator, uint64_t sequence, uint64_t bytes)
{
    atomic_store(left_at(migrator, sequence), atomic_load(left_at(migrator, sequence - 1)) + bytes);
}

/* The values read first may be older than those read later: at worst the fetch waits too long. */
uint64_t sl_migrator_room_after(const struct sl_migrator *migrator, sl_chunk c, uint64_t bytes,
                                uint64_t budget_bytes)
{
    uint64_t held = atomic_load(&sl_arena_record(migrator->arena, c)->frame_bytes);
    uint64_t occupied = atomic_load(&migrator->occupied_bytes) + (bytes > held ? bytes - held : 0);
    uint64_t first = atomic_load(&migrator->out.done), last = atomic_load(&migrator->out.given);
    /* Older entries are about to be overwritten. */
    if (last > first + SL_EVENTS_MOST / 2) first = last - SL_EVENTS_MOST / 2;
    uint64_t left = atomic_load(left_at(migrator, last));
    while (first < last) {
        uint64_t middle = first + (last - first) / 2;
        if (occupied + (left - atomic_load(left_at(migrator, middle))) <= budget_bytes)
            last = middle;
        else
            first = middle + 1;
    }
    return first;
}

/* Another thread changed the chunk after its number was published. Threads that saw the number wait for it,
 * so an empty movement gets it. */
static uint64_t give_up(struct sl_migrator *migrator, struct sl_link_direction *direction)
{
    if (direction == &migrator->out) note_left(migrator, atomic_load(&direction->given) + 1, 0);
    submitted(migrator, direction, SL_OK);
    return 0;
}

static struct sl_movement *movement_of(const struct sl_migrator *migrator, bool out,
                                       const struct sl_chunk_record *chunk, uint64_t bytes)
{
    if (!migrator->movers || atomic_load(&migrator->movers->off) || atomic_load(&migrator->in.ended) ||
        atomic_load(&migrator->out.ended))
        return NULL;
    struct sl_movement *movement = sl_movers_make(migrator->movers);
    if (!movement) return NULL;
    movement->out = out;
    movement->address = chunk->address;
    movement->bytes = bytes;
    return movement;
}

/* The chunk's frame was given up by a movement that has its number: who finds room in `occupied_bytes` learns
 * from the numbers what to wait for. */
static void note_gone(struct sl_migrator *migrator, struct sl_chunk_record *chunk, uint64_t bytes)
{
    atomic_store(&chunk->in_sequence, 0);
    atomic_store(&chunk->users, 0);
    atomic_store(&chunk->frame_bytes, 0);
    if (atomic_exchange(&chunk->unused, false)) atomic_fetch_add(&migrator->stats->unused_bytes, bytes);
    uint64_t occupied = atomic_fetch_sub(&migrator->occupied_bytes, bytes);
    if (!SL_CHECK(bytes <= occupied)) atomic_store(&migrator->occupied_bytes, 0);
}

/* Precondition: the content has changed, and `sequence` is published as the chunk's. */
static void copy_out_by_mover(struct sl_migrator *migrator, struct sl_movement *movement, sl_chunk c,
                              struct sl_fence *fence, enum sl_move_cause cause)
{
    struct sl_chunk_record *chunk = sl_arena_record(migrator->arena, c);
    movement->other = atomic_load(&chunk->in_sequence);
    movement->whole = true;
    sl_migrator_users(migrator, c, fence, &movement->users);
    uint64_t bytes = movement->bytes;
    movement->move = sl_stats_moved(migrator->stats, SL_ACTION_EVICT, cause, c, bytes);
    movement->sequence = sl_link_direction_claim(&migrator->out, bytes);
    note_gone(migrator, chunk, bytes);
    sl_movers_add(migrator->movers, movement);
}

uint64_t sl_migrator_evict(struct sl_migrator *migrator, sl_chunk c, struct sl_fence *fence,
                           enum sl_move_cause cause)
{
    struct sl_chunk_record *chunk = sl_arena_record(migrator->arena, c);
    uint64_t sequence = atomic_load(&migrator->out.given) + 1;
    if (atomic_load(&migrator->failed) || chunk->pinned || !sl_chunk_is_resident(chunk)) return 0;
    /* Published before the content changes, so a thread that sees the new content also sees what to wait
     * for. */
    uint64_t dropped = atomic_load(&chunk->discard_sequence);
    SL_CHECK(atomic_load(&chunk->out_sequence) < sequence);
    atomic_store(&chunk->out_sequence, sequence);
    bool evicted = sl_content_change(chunk, SL_CONTENT_RESIDENT, SL_CONTENT_HOST);
    if (!evicted) {
        /* Rule 12 of docs/concurrency.md */
        if (!migrator->keeps_dead && SL_GUARD(DISCARD_IS_TOLD_FIRST))
            atomic_store(&chunk->discard_sequence, sequence);
        if (!sl_content_change(chunk, SL_CONTENT_RESIDENT_DEAD, SL_CONTENT_DEAD)) {
            atomic_store(&chunk->discard_sequence, dropped);
            return give_up(migrator, &migrator->out);
        }
    }
    /* A fetch that made the chunk resident has yet to note its frame. */
    while (!sl_link_direction_is_given(&migrator->in, atomic_load(&chunk->in_sequence))) sched_yield();
    uint64_t bytes = atomic_load(&chunk->frame_bytes);
    note_left(migrator, sequence, bytes);
    /* What is dead is discarded on the out stream, unless its fetch is still to come: nobody waits for a
     * mover under a direction's lock, which movers take. */
    bool by_mover = evicted || !sl_link_direction_has_landed(&migrator->in, atomic_load(&chunk->in_sequence));
    struct sl_movement *movement = by_mover ? movement_of(migrator, true, chunk, bytes) : NULL;
    if (movement) {
        atomic_store(&chunk->copied, true);
        copy_out_by_mover(migrator, movement, c, fence, cause);
        return sequence;
    }
    begin_timing(migrator, &migrator->out);
    wait_for_users(migrator, c, fence);
    /* Rule 8 of docs/concurrency.md */
    bool drops = !evicted && !migrator->keeps_dead && wait_for_frees(migrator, chunk);
    enum sl_action_kind kind = drops ? SL_ACTION_DISCARD : SL_ACTION_EVICT;
    atomic_store(&chunk->copied, !drops);
    bool timed = kind == SL_ACTION_EVICT && begin_transfer(migrator, &migrator->out);
    enum sl_status status = let_go(migrator, kind, chunk->address, bytes);
    submitted(migrator, &migrator->out, status);
    if (drops && !SL_GUARD(DISCARD_IS_TOLD_FIRST)) atomic_store(&chunk->discard_sequence, sequence);
    note_gone(migrator, chunk, bytes);
    struct sl_event move = sl_stats_moved(migrator->stats, kind, cause, c, bytes);
    if (timed && status == SL_OK) end_transfer(migrator, &migrator->out, &move, true);
    return sequence;
}

/* Makes an absent chunk's content resident. False: it is resident already, or was changed meanwhile. */
static bool arrive(struct sl_chunk_record *chunk, bool *dead)
{
    *dead = sl_content_change(chunk, SL_CONTENT_DEAD, SL_CONTENT_RESIDENT_DEAD);
    if (!*dead) return sl_content_change(chunk, SL_CONTENT_HOST, SL_CONTENT_RESIDENT);
    /* An allocation placed meanwhile did not see RESIDENT_DEAD; a later one does. */
    if (atomic_load(&chunk->bytes)) sl_content_change(chunk, SL_CONTENT_RESIDENT_DEAD, SL_CONTENT_RESIDENT);
    return true;
}

uint64_t sl_migrator_fetch(struct sl_migrator *migrator, sl_chunk c, uint64_t bytes, uint64_t after_out,
                           enum sl_move_cause cause)
{
    const struct sl_backend *backend = migrator->backend;
    struct sl_chunk_record *chunk = sl_arena_record(migrator->arena, c);
    uint64_t sequence = atomic_load(&migrator->in.given) + 1, held = atomic_load(&chunk->frame_bytes);
    bool dead = false;
    if (!SL_CHECK(bytes <= migrator->arena->chunk_bytes)) return 0;
    if (atomic_load(&migrator->failed) || bytes <= held || (!held && sl_chunk_is_resident(chunk))) return 0;
    /* Waits before the content changes: once an eviction sees the chunk resident, it waits for this fetch. */
    uint64_t own = atomic_load(&chunk->out_sequence);
    while (!sl_link_direction_is_given(&migrator->out, own)) {
        sched_yield();
        own = atomic_load(&chunk->out_sequence);
    }
    SL_CHECK(atomic_load(&chunk->in_sequence) < sequence);
    atomic_store(&chunk->in_sequence, sequence);
    if (!held && !arrive(chunk, &dead)) return give_up(migrator, &migrator->in);
    atomic_store(&chunk->frame_bytes, bytes);
    atomic_store(&chunk->unused, cause == SL_CAUSE_PLAN && !dead);
    uint64_t occupied = atomic_fetch_add(&migrator->occupied_bytes, bytes - held) + bytes - held;
    sl_stats_occupied(migrator->stats, occupied);
    enum sl_action_kind kind = dead ? SL_ACTION_POPULATE : SL_ACTION_FETCH;
    bool whole = !held && own;
    struct sl_movement *movement = movement_of(migrator, false, chunk, bytes);
    if (movement) {
        movement->other = own;
        movement->room = after_out;
        movement->whole = whole;
        movement->sequence = sl_link_direction_claim(&migrator->in, bytes);
        movement->move = sl_stats_moved(migrator->stats, kind, cause, c, bytes - held);
        sl_movers_add(migrator->movers, movement);
        return sequence;
    }
    begin_timing(migrator, &migrator->in);
    if (own > after_out) after_out = own;
    if (after_out) sl_migrator_wait(migrator, &migrator->out, after_out, migrator->in.enqueued.stream);
    bool timed = !dead && begin_transfer(migrator, &migrator->in);
    enum sl_status status =
        backend->fetch(backend->self, chunk->address, bytes, migrator->in.enqueued.stream);
    submitted(migrator, &migrator->in, status);
    struct sl_event move = sl_stats_moved(migrator->stats, kind, cause, c, bytes - held);
    if (timed && status == SL_OK) end_transfer(migrator, &migrator->in, &move, whole);
    return sequence;
}

void sl_migrator_hand_to_driver(struct sl_migrator *migrator, sl_chunk c)
{
    struct sl_chunk_record *chunk = sl_arena_record(migrator->arena, c);
    atomic_store(&chunk->content, SL_CONTENT_RESIDENT);
    atomic_store(&chunk->frame_bytes, atomic_load(&chunk->bytes));
}

void sl_migrator_discard(struct sl_migrator *migrator, sl_chunk c)
{
    const struct sl_backend *backend = migrator->backend;
    struct sl_chunk_record *chunk = sl_arena_record(migrator->arena, c);
    uint64_t sequence = atomic_load(&migrator->out.given) + 1;
    if (atomic_load(&migrator->failed) || migrator->keeps_dead || atomic_load(&chunk->bytes) ||
        atomic_load(&chunk->content) != SL_CONTENT_DEAD ||
        !sl_link_direction_has_landed(&migrator->out, atomic_load(&chunk->out_sequence)))
        return;
    /* Rule 12: either the next owner of the chunk sees this number, or the discard sees that it was taken. */
    atomic_store(&chunk->discard_sequence, sequence);
    note_left(migrator, sequence, 0);
    atomic_store(&chunk->out_sequence, sequence);
    bool drops = wait_for_frees(migrator, chunk);
    if (drops) atomic_store(&chunk->copied, false);
    submitted(migrator, &migrator->out,
              drops ? backend->discard(backend->self, chunk->address, migrator->arena->chunk_bytes,
                                       migrator->out.enqueued.stream)
                    : SL_OK);
    atomic_store(&chunk->users, 0);
}
