#include "memory/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/log.h"
#include "memory/memory_valid.h"

#define NO_SLAB UINT16_MAX /* driver memory */
#define LEAST_PINNED_BYTES (32 * SL_MIB)
#define PINNED_GROWTH 8 /* a pinned slab has at least this fraction of the pinned memory so far */

_Atomic uint32_t sl_slab_of[SL_SLAB_TABLE];
struct sl_arena_range sl_arena_range = {UINT64_MAX, 0};

void sl_arena_init(struct sl_arena *arena, const struct sl_backend *backend, uint64_t chunk_bytes)
{
    memset(arena, 0, sizeof *arena);
    arena->backend = backend;
    arena->chunk_bytes = chunk_bytes;
    arena->chunk_shift = (uint32_t)__builtin_ctzll(chunk_bytes);
    arena->slab_shift = SL_SLAB_SHIFT - arena->chunk_shift;
    arena->chunks_per_slab = (uint32_t)1 << arena->slab_shift;
    sl_arena_spread(arena, 1);
}

void sl_arena_spread(struct sl_arena *arena, uint32_t count)
{
    arena->open_count = count < SL_SLABS_OPEN ? count : SL_SLABS_OPEN;
    for (uint32_t s = 0; s < SL_SLABS_OPEN; s++) arena->open[s] = SL_NONE;
}

static bool may_change(int from, int to)
{
    switch (from) {
    case SL_CONTENT_DEAD: /* populated without or with an owner, or used remotely */
        return to == SL_CONTENT_RESIDENT_DEAD || to == SL_CONTENT_HOST;
    case SL_CONTENT_HOST:
        return to == SL_CONTENT_RESIDENT || to == SL_CONTENT_DEAD;
    case SL_CONTENT_RESIDENT:
        return to == SL_CONTENT_HOST || to == SL_CONTENT_RESIDENT_DEAD;
    default:
        return to == SL_CONTENT_DEAD || to == SL_CONTENT_RESIDENT;
    }
}

/* Rule 7 of docs/concurrency.md */
bool sl_content_change(struct sl_chunk_record *chunk, int from, int to)
{
    if (!SL_CHECK(may_change(from, to))) return false;
    return atomic_compare_exchange_strong(&chunk->content, &from, to);
}

static void give_back(const struct sl_arena *arena, uint64_t address, uint64_t bytes, bool pinned)
{
    const struct sl_backend *backend = arena->backend;
    (pinned ? backend->pinned_delete : backend->slab_delete)(backend->self, address, bytes);
}

/* The address may be another arena's by now. */
static void forget_slab(const struct sl_arena *arena, const struct sl_slab *slab)
{
    _Atomic uint32_t *entry = &sl_slab_of[slab->address >> SL_SLAB_SHIFT];
    if (slab->chunk_count && atomic_load(entry) >> SL_OWNER_SHIFT == arena->owner >> SL_OWNER_SHIFT)
        atomic_store(entry, 0);
}

void sl_arena_close(struct sl_arena *arena, bool device_gone)
{
    uint32_t count = atomic_load(&arena->slab_count);
    for (uint32_t s = 0; s < count; s++) {
        struct sl_slab *slab = &arena->slabs[s];
        forget_slab(arena, slab);
        if (slab->reservation_bytes && !device_gone)
            give_back(arena, slab->address, slab->reservation_bytes, slab->pinned);
        for (uint32_t c = 0; c < arena->chunks_per_slab; c++) sl_chunk_bitmap_delete(slab->chunks[c].bitmap);
        free(slab->chunks);
    }
    atomic_store(&arena->slab_count, 0);
}

void sl_arena_forget(const struct sl_arena *arena)
{
    uint32_t count = atomic_load(&arena->slab_count);
    for (uint32_t s = 0; s < count; s++) forget_slab(arena, &arena->slabs[s]);
}

static void widen_range(uint64_t low, uint64_t high)
{
    if (low < atomic_load(&sl_arena_range.low)) atomic_store(&sl_arena_range.low, low);
    if (high > atomic_load(&sl_arena_range.high)) atomic_store(&sl_arena_range.high, high);
}

bool sl_arena_note(uint64_t address, uint64_t bytes)
{
    uint64_t first = address >> SL_SLAB_SHIFT, last = (address + bytes - 1) >> SL_SLAB_SHIFT;
    if (last >= SL_SLAB_TABLE) return false;
    widen_range(first << SL_SLAB_SHIFT, (last + 1) << SL_SLAB_SHIFT);
    for (uint64_t slab = first; slab <= last; slab++)
        atomic_store_explicit(&sl_slab_of[slab], NO_SLAB, memory_order_release);
    return true;
}

/* The slab gets the chunks that `bytes` have left. A pinned chunk counts as resident. */
static void fill_slab(struct sl_arena *arena, uint32_t s, uint64_t address, uint64_t bytes, bool pinned)
{
    struct sl_slab *slab = &arena->slabs[s];
    uint64_t count = bytes >> arena->chunk_shift;
    slab->address = address;
    slab->pinned = pinned;
    slab->chunk_count = count < arena->chunks_per_slab ? (uint32_t)count : arena->chunks_per_slab;
    slab->free_chunks = slab->chunk_count;
    for (uint32_t c = 0; c < arena->chunks_per_slab; c++) {
        struct sl_chunk_record *chunk = &slab->chunks[c];
        chunk->address = slab->address + ((uint64_t)c << arena->chunk_shift);
        chunk->run = s * arena->chunks_per_slab + c;
        chunk->group = SL_NONE;
        chunk->run_slot = SL_NONE;
        if (!pinned) continue;
        chunk->pinned = true;
        atomic_store(&chunk->content, SL_CONTENT_RESIDENT_DEAD);
        atomic_store(&chunk->frame_bytes, arena->chunk_bytes);
    }
}

/* Takes slabs for `bytes` bytes, whole chunks, contiguous in address and in number. */
static enum sl_status add_slabs(struct sl_arena *arena, uint64_t bytes, bool pinned)
{
    const struct sl_backend *backend = arena->backend;
    uint32_t first = atomic_load(&arena->slab_count), count = (uint32_t)((bytes + SL_GIB - 1) / SL_GIB);
    if (count > SL_MAX_SLABS - first) return SL_ERR_NO_MEMORY;
    uint64_t address = 0;
    enum sl_status status =
        (pinned ? backend->pinned_new : backend->slab_new)(backend->self, bytes, &address);
    if (status) return status;
    if ((address + count * SL_GIB - 1) >> SL_SLAB_SHIFT >= SL_SLAB_TABLE) {
        sl_log(SL_LOG_WARN, "the driver placed memory at 0x%llx, beyond 47 bits",
               (unsigned long long)address);
        give_back(arena, address, bytes, pinned);
        return SL_ERR_UNSUPPORTED;
    }
    for (uint32_t s = first; s < first + count; s++) {
        arena->slabs[s].chunks = calloc(arena->chunks_per_slab, sizeof(struct sl_chunk_record));
        if (arena->slabs[s].chunks) continue;
        while (s-- > first) free(arena->slabs[s].chunks);
        give_back(arena, address, bytes, pinned);
        return SL_ERR_NO_MEMORY;
    }
    widen_range(address, address + count * SL_GIB);
    for (uint32_t s = first; s < first + count; s++) {
        uint64_t at = (s - first) * SL_GIB;
        fill_slab(arena, s, address + at, bytes - at, pinned);
        arena->slabs[s].reservation_bytes = s == first ? bytes : 0;
        atomic_store_explicit(&sl_slab_of[(address + at) >> SL_SLAB_SHIFT], arena->owner | (s + 1),
                              memory_order_release);
    }
    if (pinned) arena->pinned_bytes += bytes;
    atomic_store_explicit(&arena->slab_count, first + count, memory_order_release);
    SL_CHECK_ALL(sl_arena_is_valid(arena));
    return SL_OK;
}

static bool is_free(const struct sl_arena *arena, sl_chunk chunk)
{
    return sl_arena_record(arena, chunk)->bytes == 0;
}

/* Pinned slabs have memory at their beginning. */
static bool has_memory(const struct sl_arena *arena, sl_chunk chunk)
{
    return (chunk & (arena->chunks_per_slab - 1)) < arena->slabs[chunk >> arena->slab_shift].chunk_count;
}

/* A run may cross a slab's end only where the next slab is contiguous. */
static bool adjacent(const struct sl_arena *arena, sl_chunk chunk)
{
    return sl_arena_record(arena, chunk + 1)->address - sl_arena_record(arena, chunk)->address ==
           arena->chunk_bytes;
}

/* From chunk `c`, the first of a slab, to `end`. No run spans two pinned slabs that the backend gave
 * separately: each is pinned by itself. */
static sl_chunk find_run(const struct sl_arena *arena, size_t c, size_t end, uint32_t count, bool pinned,
                         bool foreign)
{
    size_t length = 0;
    for (; c < end; c++) {
        const struct sl_slab *slab = &arena->slabs[c / arena->chunks_per_slab];
        size_t in_slab = c % arena->chunks_per_slab;
        bool wrong = slab->pinned != pinned || slab->reserved;
        if (in_slab == 0 && (wrong || (pinned && slab->reservation_bytes))) length = 0;
        if (in_slab == 0 && (wrong || (length == 0 && !slab->free_chunks))) {
            c += arena->chunks_per_slab - 1;
            continue;
        }
        if (in_slab >= slab->chunk_count || !is_free(arena, (sl_chunk)c) ||
            (!foreign &&
             sl_arena_is_foreign(arena, sl_arena_record(arena, (sl_chunk)c)->address, arena->chunk_bytes))) {
            length = 0;
            continue;
        }
        length = length && adjacent(arena, (sl_chunk)c - 1) ? length + 1 : 1;
        if (length == count) return (sl_chunk)(c + 1 - count);
    }
    return SL_NONE;
}

static uint32_t chunks_for(const struct sl_arena *arena, uint64_t bytes)
{
    return (uint32_t)((bytes + arena->chunk_bytes - 1) >> arena->chunk_shift);
}

static void note_touched(struct sl_arena *arena, struct sl_slab *slab, uint32_t used_chunks)
{
    uint32_t before = atomic_load(&slab->used_chunks);
    if (used_chunks <= before) return;
    atomic_store_explicit(&slab->used_chunks, used_chunks, memory_order_release);
    arena->chunks_touched += used_chunks - before;
}

static void mark(struct sl_arena *arena, sl_chunk first, uint64_t bytes)
{
    uint32_t count = chunks_for(arena, bytes);
    arena->chunks_used += count;
    if (arena->chunks_used > arena->peak_chunks_used) arena->peak_chunks_used = arena->chunks_used;
    for (uint32_t i = 0; i < count; i++) {
        struct sl_chunk_record *chunk = sl_arena_record(arena, first + i);
        struct sl_slab *slab = &arena->slabs[(first + i) >> arena->slab_shift];
        uint64_t rest = bytes - i * arena->chunk_bytes;
        chunk->bytes = rest < arena->chunk_bytes ? (rest + SL_BLOCK_BYTES - 1) & ~(SL_BLOCK_BYTES - 1)
                                                 : arena->chunk_bytes;
        chunk->run = first;
        chunk->run_chunks = count;
        arena->virtual_bytes_used += chunk->bytes;
        if (chunk->pinned) arena->pinned_bytes_used += chunk->bytes;
        slab->free_chunks--;
        note_touched(arena, slab, ((first + i) & (arena->chunks_per_slab - 1)) + 1);
        /* From here on the owner may write to it unseen, so it must not be discarded. */
        sl_content_change(chunk, SL_CONTENT_RESIDENT_DEAD, SL_CONTENT_RESIDENT);
    }
}

static bool is_open(const struct sl_arena *arena, uint32_t slab)
{
    for (uint32_t o = 0; o < arena->open_count; o++)
        if (arena->open[o] == slab) return true;
    return false;
}

/* What was freed is used again wherever it is: its host memory is there. Otherwise in the slab whose turn it
 * is, or in one that is not open, which is open from then on. */
static sl_chunk find_in_turn(struct sl_arena *arena, uint32_t count, bool foreign)
{
    uint32_t total = atomic_load(&arena->slab_count), *open = &arena->open[arena->turn];
    sl_chunk found = SL_NONE;
    for (uint32_t s = 0; s < total && found == SL_NONE; s++) {
        size_t first = (size_t)s << arena->slab_shift;
        found = find_run(arena, first, first + arena->slabs[s].used_chunks, count, false, foreign);
    }
    if (found != SL_NONE) return found;
    for (uint32_t i = 0; i <= total && found == SL_NONE; i++) {
        uint32_t slab = i ? i - 1 : *open;
        if (slab == SL_NONE || (i && is_open(arena, slab))) continue;
        size_t first = (size_t)slab << arena->slab_shift;
        found = find_run(arena, first, first + arena->chunks_per_slab, count, false, foreign);
    }
    if (found == SL_NONE) return SL_NONE;
    *open = found >> arena->slab_shift;
    arena->turn = (arena->turn + 1) % arena->open_count;
    return found;
}

/* Where the backend refuses another slab, none is opened any more. */
static enum sl_status take_in_turn(struct sl_arena *arena, uint32_t count, uint64_t slab_bytes,
                                   sl_chunk *found)
{
    *found = find_in_turn(arena, count, false);
    if (*found == SL_NONE && arena->serial) *found = find_in_turn(arena, count, true);
    if (*found != SL_NONE) return SL_OK;
    enum sl_status status = add_slabs(arena, slab_bytes, false);
    if (status)
        arena->open_count = 1;
    else
        *found = find_in_turn(arena, count, false);
    return status;
}

/* `slab_bytes`: the request to the backend if there is no room. */
static enum sl_status take(struct sl_arena *arena, uint64_t bytes, uint64_t slab_bytes, bool pinned,
                           sl_chunk *first)
{
    uint32_t count = chunks_for(arena, bytes);
    size_t end = sl_arena_chunk_count(arena);
    sl_chunk found = SL_NONE;
    bool by_turns = !pinned && arena->open_count > 1 && count <= arena->chunks_per_slab;
    if (!by_turns || take_in_turn(arena, count, slab_bytes, &found)) {
        found = find_run(arena, 0, end, count, pinned, false);
        if (found == SL_NONE && arena->serial) found = find_run(arena, 0, end, count, pinned, true);
    }
    if (found == SL_NONE) {
        enum sl_status status = slab_bytes ? add_slabs(arena, slab_bytes, pinned) : SL_ERR_NO_MEMORY;
        if (status) return status;
        found = (sl_chunk)end;
    }
    mark(arena, found, bytes);
    *first = found;
    return SL_OK;
}

enum sl_status sl_arena_take(struct sl_arena *arena, uint64_t bytes, sl_chunk *first)
{
    return take(arena, bytes, (bytes + SL_GIB - 1) & ~(SL_GIB - 1), false, first);
}

/* A large slab keeps slabs few; PINNED_GROWTH limits the unrequested part. */
static uint64_t pinned_slab_bytes(const struct sl_arena *arena, uint64_t bytes, uint64_t room_bytes)
{
    uint64_t least = (uint64_t)chunks_for(arena, bytes) << arena->chunk_shift;
    uint64_t good = arena->pinned_bytes / PINNED_GROWTH;
    if (good < LEAST_PINNED_BYTES) good = LEAST_PINNED_BYTES;
    if (good > SL_GIB) good = SL_GIB;
    good = (uint64_t)chunks_for(arena, good) << arena->chunk_shift;
    if (least > room_bytes) return 0;
    return least < good && good <= room_bytes ? good : least;
}

enum sl_status sl_arena_take_pinned(struct sl_arena *arena, uint64_t bytes, uint64_t room_bytes,
                                    sl_chunk *first)
{
    uint64_t slab_bytes = arena->pinned_refused ? 0 : pinned_slab_bytes(arena, bytes, room_bytes);
    enum sl_status status = take(arena, bytes, slab_bytes, true, first);
    if (status && slab_bytes) {
        sl_log(SL_LOG_WARN, "no pinned memory could be had (%s): from now on there is only unified memory",
               sl_status_text(status));
        arena->pinned_refused = true;
    }
    return status;
}

bool sl_arena_take_at(struct sl_arena *arena, sl_chunk first, uint64_t bytes)
{
    uint32_t count = chunks_for(arena, bytes);
    if (first + count > sl_arena_chunk_count(arena)) return false;
    for (uint32_t i = 0; i < count; i++)
        if (!has_memory(arena, first + i) || !is_free(arena, first + i) ||
            (i && !adjacent(arena, first + i - 1)))
            return false;
    mark(arena, first, bytes);
    return true;
}

/* The first of `count` contiguous empty slabs; the number of slabs if there are none. They are all that the
 * backend made at once, so that they can be given back: sl_arena_delete. */
static uint32_t find_slabs(const struct sl_arena *arena, uint32_t count)
{
    uint32_t total = atomic_load(&arena->slab_count), length = 0;
    for (uint32_t s = 0; s < total; s++) {
        const struct sl_slab *slab = &arena->slabs[s];
        bool empty = !slab->pinned && !slab->reserved && slab->free_chunks == arena->chunks_per_slab;
        bool follows = length && slab->address - slab[-1].address == SL_GIB;
        length = empty && (follows || slab->reservation_bytes) ? (follows ? length + 1 : 1) : 0;
        bool ends = s + 1 == total || slab[1].reservation_bytes;
        if (length == count && ends && arena->slabs[s + 1 - count].reservation_bytes) return s + 1 - count;
        if (length >= count && ends) length = 0;
    }
    return total;
}

enum sl_status sl_arena_reserve(struct sl_arena *arena, uint64_t bytes, uint64_t *address)
{
    if (bytes > SL_MAX_SLABS * SL_GIB) return SL_ERR_UNSUPPORTED;
    uint32_t count = (uint32_t)((bytes + SL_GIB - 1) / SL_GIB), first = find_slabs(arena, count);
    if (first == atomic_load(&arena->slab_count)) {
        if (count > SL_MAX_SLABS - first) return SL_ERR_UNSUPPORTED;
        enum sl_status status = add_slabs(arena, count * SL_GIB, false);
        if (status) return status;
    }
    for (uint32_t s = first; s < first + count; s++) arena->slabs[s].reserved = true;
    *address = arena->slabs[first].address;
    return SL_OK;
}

void sl_arena_unreserve(struct sl_arena *arena, uint64_t address, uint64_t bytes)
{
    uint32_t count = (uint32_t)((bytes + SL_GIB - 1) / SL_GIB), first = sl_arena_slab(arena, address) - 1;
    for (uint32_t s = first; s < first + count; s++)
        if (SL_CHECK(arena->slabs[s].reserved && arena->slabs[s].free_chunks == arena->slabs[s].chunk_count))
            arena->slabs[s].reserved = false;
}

void sl_arena_give_up(struct sl_arena *arena, uint64_t address, uint64_t bytes, uint32_t *first_slab)
{
    uint32_t count = (uint32_t)((bytes + SL_GIB - 1) / SL_GIB), first = sl_arena_slab(arena, address) - 1;
    for (uint32_t s = first; s < first + count; s++) {
        struct sl_slab *slab = &arena->slabs[s];
        atomic_store_explicit(&sl_slab_of[slab->address >> SL_SLAB_SHIFT], 0, memory_order_release);
        slab->reserved = false;
        slab->pinned = true;
        slab->chunk_count = slab->free_chunks = 0;
        for (uint32_t c = 0; c < arena->chunks_per_slab; c++) {
            struct sl_chunk_record *chunk = &slab->chunks[c];
            chunk->pinned = true;
            atomic_store(&chunk->content, SL_CONTENT_RESIDENT_DEAD);
            atomic_store(&chunk->frame_bytes, arena->chunk_bytes);
        }
    }
    *first_slab = first;
}

void sl_arena_delete(struct sl_arena *arena, uint32_t first_slab, uint64_t bytes)
{
    uint32_t count = (uint32_t)((bytes + SL_GIB - 1) / SL_GIB);
    for (uint32_t s = first_slab; s < first_slab + count; s++) {
        struct sl_slab *slab = &arena->slabs[s];
        if (slab->reservation_bytes) give_back(arena, slab->address, slab->reservation_bytes, false);
        slab->reservation_bytes = 0;
    }
}

void sl_arena_split(struct sl_arena *arena, sl_chunk first)
{
    struct sl_chunk_record *run = sl_arena_record(arena, first);
    sl_chunk last = first + --run->run_chunks;
    sl_arena_record(arena, last)->run = last;
    sl_arena_record(arena, last)->run_chunks = 1;
}

void sl_arena_grow(struct sl_arena *arena, sl_chunk c, uint64_t bytes)
{
    struct sl_chunk_record *chunk = sl_arena_record(arena, c);
    uint64_t before = atomic_load(&chunk->bytes);
    if (bytes <= before) return;
    arena->virtual_bytes_used += bytes - before;
    if (chunk->pinned) arena->pinned_bytes_used += bytes - before;
    atomic_store(&chunk->bytes, bytes);
}

void sl_arena_give(struct sl_arena *arena, sl_chunk first)
{
    uint32_t count = sl_arena_record(arena, first)->run_chunks;
    if (!SL_CHECK(count && sl_arena_record(arena, first)->run == first && count <= arena->chunks_used))
        return;
    arena->chunks_used -= count;
    for (uint32_t i = 0; i < count; i++) {
        struct sl_chunk_record *chunk = sl_arena_record(arena, first + i);
        if (!SL_CHECK(chunk->bytes <= arena->virtual_bytes_used))
            atomic_store(&arena->virtual_bytes_used, chunk->bytes);
        arena->virtual_bytes_used -= chunk->bytes;
        if (chunk->pinned) arena->pinned_bytes_used -= chunk->bytes;
        atomic_store(&chunk->bytes, 0);
        /* The migrator may meanwhile change it between resident and host. */
        while (!sl_content_is_dead(atomic_load(&chunk->content)))
            if (!sl_content_change(chunk, SL_CONTENT_RESIDENT, SL_CONTENT_RESIDENT_DEAD))
                sl_content_change(chunk, SL_CONTENT_HOST, SL_CONTENT_DEAD);
        chunk->run = first + i;
        chunk->run_chunks = 0;
        chunk->run_slot = SL_NONE;
        chunk->group = SL_NONE;
        arena->slabs[(first + i) / arena->chunks_per_slab].free_chunks++;
    }
}
