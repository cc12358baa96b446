#include "tools/analyses/chunk_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/types.h"

enum { PAIRS_MAX = 1 << 26 }; /* limits the memory and time that a file can request */

struct state {
    bool resident;
    uint64_t since_ns;
};

struct pair {
    uint32_t row, slot;
    uint64_t offset, bytes;
};

struct maker {
    const struct model *model;
    struct chunk_rows *out;
    struct sl_map row_of; /* chunk + 1 -> row */
    struct state *states; /* by row */
    size_t room;
    struct pair *pairs;
    size_t pair_count, pair_room;
};

/* UINT32_MAX: out of memory. */
static uint32_t row_of(struct maker *maker, uint32_t chunk)
{
    struct chunk_rows *out = maker->out;
    uint32_t row = sl_map_get(&maker->row_of, (uint64_t)chunk + 1);
    if (row != SL_NONE) return row;
    if (out->count == maker->room) {
        size_t room = 2 * maker->room + 256;
        struct chunk_row *rows = realloc(out->rows, room * sizeof(*rows));
        if (rows) out->rows = rows;
        struct state *states = realloc(maker->states, room * sizeof(*states));
        if (states) maker->states = states;
        if (!rows || !states) return SL_NONE;
        maker->room = room;
    }
    row = (uint32_t)out->count;
    if (!sl_map_put(&maker->row_of, (uint64_t)chunk + 1, row)) return SL_NONE;
    out->rows[row] = (struct chunk_row){.chunk = chunk};
    maker->states[row] = (struct state){0};
    out->count++;
    return row;
}

static uint64_t address_of(const struct model *model, uint32_t chunk)
{
    for (size_t s = 0; s < model->slabs.count; s++) {
        const struct model_slab *slab = &model->slabs.at[s];
        uint64_t offset = (uint64_t)(chunk - slab->chunk) * model->chunk_bytes;
        if (chunk >= slab->chunk && offset < slab->bytes) return slab->address + offset;
    }
    return 0;
}

static bool add_moves(struct maker *maker)
{
    const struct model *model = maker->model;
    for (size_t i = 0; i < model->moves.count; i++) {
        const struct model_move *move = &model->moves.at[i];
        uint32_t index = row_of(maker, move->chunk);
        if (index == SL_NONE) return false;
        struct chunk_row *row = &maker->out->rows[index];
        struct state *state = &maker->states[index];
        row->moves[move->kind][move->cause]++;
        if (move->kind == SL_ACTION_FETCH) row->in_bytes += move->bytes;
        if (move->kind == SL_ACTION_EVICT) row->out_bytes += move->bytes;
        bool comes = move->kind == SL_ACTION_FETCH || move->kind == SL_ACTION_POPULATE;
        if (comes && !state->resident) state->since_ns = move->time_ns;
        if (!comes && state->resident) row->resident_ns += move->time_ns - state->since_ns;
        state->resident = comes;
    }
    for (size_t r = 0; r < maker->out->count; r++)
        if (maker->states[r].resident)
            maker->out->rows[r].resident_ns += model->last_ns - maker->states[r].since_ns;
    return true;
}

static bool add_pair(struct maker *maker, const struct pair *pair)
{
    if (maker->pair_count == maker->pair_room) {
        size_t room = 2 * maker->pair_room + 1024;
        struct pair *grown = realloc(maker->pairs, room * sizeof(*grown));
        if (!grown) return false;
        maker->pairs = grown;
        maker->pair_room = room;
    }
    maker->pairs[maker->pair_count++] = *pair;
    return true;
}

/* Adds the part of a slot that lies in a slab to the slab's chunks. */
static bool place_in_slab(struct maker *maker, const struct model_slab *slab, uint32_t slot)
{
    const struct model_slot *what = &maker->model->slots.at[slot];
    uint64_t chunk_bytes = maker->model->chunk_bytes, slab_end = slab->address + slab->bytes;
    uint64_t begin = what->address > slab->address ? what->address : slab->address;
    uint64_t end = what->address + what->bytes < slab_end ? what->address + what->bytes : slab_end;
    while (begin < end) {
        if (maker->pair_count == PAIRS_MAX) {
            maker->out->cut = true;
            return true;
        }
        uint64_t index = (begin - slab->address) / chunk_bytes;
        uint64_t chunk_end = slab->address + (index + 1) * chunk_bytes;
        uint64_t part_end = end < chunk_end ? end : chunk_end;
        uint32_t row = row_of(maker, slab->chunk + (uint32_t)index);
        struct pair pair = {row, slot, begin - what->address, part_end - begin};
        if (row == SL_NONE || !add_pair(maker, &pair)) return false;
        begin = part_end;
    }
    return true;
}

static bool is_sound(const struct model_slab *slab)
{
    return slab->bytes <= SL_GIB && slab->address <= UINT64_MAX - SL_GIB;
}

static bool add_slots(struct maker *maker)
{
    const struct model *model = maker->model;
    bool good = model->chunk_bytes >= SL_BLOCK_BYTES;
    for (size_t s = 0; s < model->slabs.count && good; s++) {
        const struct model_slab *slab = &model->slabs.at[s];
        if (!is_sound(slab)) continue;
        maker->out->placed = true;
        for (size_t i = 0; i < model->slots.count && good; i++) {
            const struct model_slot *slot = &model->slots.at[i];
            if (slot->bytes && slot->address <= UINT64_MAX - slot->bytes)
                good = place_in_slab(maker, slab, (uint32_t)i);
        }
    }
    return good || model->chunk_bytes < SL_BLOCK_BYTES;
}

static int compare_pairs(const void *one, const void *other)
{
    const struct pair *a = one, *b = other;
    if (a->row != b->row) return a->row < b->row ? -1 : 1;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    return a->slot < b->slot ? -1 : a->slot > b->slot;
}

static bool give_slots_to_rows(struct maker *maker)
{
    struct chunk_rows *out = maker->out;
    out->slots = malloc((maker->pair_count + 1) * sizeof(*out->slots));
    if (!out->slots) return false;
    if (maker->pair_count) qsort(maker->pairs, maker->pair_count, sizeof(*maker->pairs), compare_pairs);
    for (size_t i = 0; i < maker->pair_count; i++) {
        const struct pair *pair = &maker->pairs[i];
        struct chunk_row *row = &out->rows[pair->row];
        if (!row->slot_count++) row->first_slot = i;
        out->slots[out->slot_count++] = (struct chunk_slot){pair->offset, pair->bytes, pair->slot};
    }
    return true;
}

bool chunk_rows_make(const struct model *model, struct chunk_rows *out)
{
    *out = (struct chunk_rows){.span_ns = model->last_ns - model->first_ns};
    struct maker maker = {.model = model, .out = out};
    bool good = add_moves(&maker) && add_slots(&maker) && give_slots_to_rows(&maker);
    for (size_t r = 0; r < out->count && out->placed; r++)
        out->rows[r].address = address_of(model, out->rows[r].chunk);
    sl_map_free(&maker.row_of);
    free(maker.states);
    free(maker.pairs);
    return good;
}

void chunk_rows_free(struct chunk_rows *rows)
{
    free(rows->rows);
    free(rows->slots);
    *rows = (struct chunk_rows){0};
}

void chunk_row_classes(const struct chunk_rows *rows, const struct chunk_row *row,
                       const struct phases *phases, uint64_t out[CLASS_COUNT])
{
    const struct segments *segments = &phases->segments;
    for (unsigned class = 0; class < CLASS_COUNT; class ++) out[class] = 0;
    for (size_t i = 0; i < row->slot_count; i++) {
        const struct chunk_slot *part = &rows->slots[row->first_slot + i];
        uint64_t end = part->offset + part->bytes, at = part->offset;
        uint32_t last = segments->first_of_slot[part->slot + 1];
        for (uint32_t s = segment_at(segments, part->slot, at); s < last && at < end; s++) {
            const struct segment *segment = &segments->at[s];
            uint64_t segment_end = segment->offset + segment->bytes;
            if (segment->offset > at)
                out[CLASS_UNKNOWN] += (segment->offset < end ? segment->offset : end) - at;
            if (segment->offset >= end) {
                at = end;
                break;
            }
            if (segment->offset > at) at = segment->offset;
            uint64_t to = segment_end < end ? segment_end : end;
            out[phases->class_of[s]] += to - at;
            at = to;
        }
        out[CLASS_UNKNOWN] += end - at;
    }
}

uint64_t chunk_row_moves(const struct chunk_row *row, unsigned kind)
{
    uint64_t count = 0;
    for (unsigned cause = 0; cause < MOVE_CAUSES; cause++) count += row->moves[kind][cause];
    return count;
}
