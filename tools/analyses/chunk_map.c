#include "tools/analyses/chunk_map.h"

#include <stdlib.h>

#include "tools/analyses/chunk_at.h"
#include "tools/analyses/timeline.h"
#include "tools/model/sorted.h"

enum { CHUNKS_MOST = 1 << 22 };

struct change {
    uint64_t time_ns;
    const struct model_life *life;
    bool ends;
};

struct making {
    const struct model *model;
    struct chunk_map *out;
    struct timeline axis;
    bool *resident;  /* of each chunk */
    uint32_t *lives; /* number of live allocations in each chunk */
    uint32_t *row_resident, *row_live;
    struct change *changes;
    size_t change_count, next_change, next_move;
};

static void note(struct chunk_map *map, uint32_t chunk, uint32_t *last)
{
    if (chunk >= CHUNKS_MOST) return; /* not a figure that sluice wrote */
    if (map->first > chunk) map->first = chunk;
    if (*last < chunk) *last = chunk;
}

/* The chunks of a slot at its place, as [*first, *first + count). They lie in one slab. */
static uint32_t chunks_of(const struct model *model, uint32_t slot, uint32_t *first)
{
    const struct model_slot *what = &model->slots.at[slot];
    uint64_t end;
    if (!what->bytes || what->address > UINT64_MAX - what->bytes) return 0;
    *first = chunk_at(model, what->address, &end);
    uint32_t last = chunk_at(model, what->address + what->bytes - 1, &end);
    return *first == SL_NONE || last == SL_NONE || last < *first ? 0 : last - *first + 1;
}

static void find_extent(struct chunk_map *map, const struct model *model)
{
    uint32_t last = 0;
    map->first = UINT32_MAX;
    for (size_t i = 0; i < model->moves.count; i++) note(map, model->moves.at[i].chunk, &last);
    for (size_t i = 0; i < model->slots.count; i++) {
        uint32_t first, count = chunks_of(model, (uint32_t)i, &first);
        if (!count) continue;
        map->placed = true;
        note(map, first, &last);
        note(map, first + count - 1, &last);
    }
    map->chunks = map->first > last ? 0 : last - map->first + 1;
    map->per_row = (map->chunks + CHUNK_MAP_ROWS - 1) / CHUNK_MAP_ROWS;
    map->rows = map->chunks ? (map->chunks + map->per_row - 1) / map->per_row : 0;
}

static bool allocate(struct making *m)
{
    struct chunk_map *map = m->out;
    map->cells = calloc((size_t)map->rows * map->columns + 1, sizeof(*map->cells));
    m->resident = calloc(map->chunks + 1, sizeof(*m->resident));
    m->lives = calloc(map->chunks + 1, sizeof(*m->lives));
    m->row_resident = calloc((size_t)map->rows + 1, sizeof(*m->row_resident));
    m->row_live = calloc((size_t)map->rows + 1, sizeof(*m->row_live));
    m->changes = calloc(2 * m->model->lives.count + 1, sizeof(*m->changes));
    return map->cells && m->resident && m->lives && m->row_resident && m->row_live && m->changes;
}

/* Births and deaths of what lives at any time in the interval. */
static bool find_changes(struct making *m)
{
    for (size_t i = 0; i < m->model->lives.count; i++) {
        const struct model_life *life = &m->model->lives.at[i];
        if (life->born_ns >= m->axis.end_ns || life->died_ns <= m->axis.begin_ns) continue;
        m->changes[m->change_count++] = (struct change){life->born_ns, life, false};
        if (life->died_ns < m->axis.end_ns)
            m->changes[m->change_count++] = (struct change){life->died_ns, life, true};
    }
    return sort_by_key(m->changes, m->change_count, sizeof(*m->changes), offsetof(struct change, time_ns));
}

static void apply_change(struct making *m, const struct change *change)
{
    uint32_t first, count = chunks_of(m->model, change->life->slot, &first);
    for (uint32_t i = 0; i < count && first + i - m->out->first < m->out->chunks; i++) {
        uint32_t chunk = first + i - m->out->first;
        if (change->ends && !m->lives[chunk]) continue;
        uint32_t before = m->lives[chunk];
        m->lives[chunk] += change->ends ? UINT32_MAX : 1;
        if (!before != !m->lives[chunk])
            m->row_live[chunk / m->out->per_row] += change->ends ? UINT32_MAX : 1;
    }
}

static void apply_move(struct making *m, const struct model_move *move, uint32_t column)
{
    uint32_t chunk = move->chunk - m->out->first;
    if (move->chunk < m->out->first || chunk >= m->out->chunks) return;
    uint32_t row = chunk / m->out->per_row;
    bool comes = move->kind == SL_ACTION_FETCH || move->kind == SL_ACTION_POPULATE;
    if (m->resident[chunk] != comes) m->row_resident[row] += comes ? 1 : UINT32_MAX;
    m->resident[chunk] = comes;
    if (move->time_ns >= m->axis.begin_ns)
        m->out->cells[(size_t)row * m->out->columns + column].moved |= (uint8_t)(1u << move->kind);
}

static void fill_column(struct making *m, uint32_t column)
{
    const struct model *model = m->model;
    uint64_t now =
        (column + 1 < m->axis.count ? timeline_begin_of(&m->axis, column + 1) : m->axis.end_ns) - 1;
    for (; m->next_move < model->moves.count && model->moves.at[m->next_move].time_ns <= now; m->next_move++)
        apply_move(m, &model->moves.at[m->next_move], column);
    for (; m->next_change < m->change_count && m->changes[m->next_change].time_ns <= now; m->next_change++)
        apply_change(m, &m->changes[m->next_change]);
    for (uint32_t row = 0; row < m->out->rows; row++) {
        struct chunk_cell *cell = &m->out->cells[(size_t)row * m->out->columns + column];
        cell->resident = m->row_resident[row];
        cell->live = m->row_live[row];
    }
}

bool chunk_map_make(const struct model *model, uint64_t begin_ns, uint64_t end_ns, uint32_t columns,
                    struct chunk_map *out)
{
    *out = (struct chunk_map){.columns = columns};
    struct making m = {
        .model = model, .out = out, .axis = {.begin_ns = begin_ns, .end_ns = end_ns, .count = columns}};
    find_extent(out, model);
    bool good = allocate(&m) && find_changes(&m);
    for (uint32_t c = 0; c < columns && good; c++) fill_column(&m, c);
    free(m.resident);
    free(m.lives);
    free(m.row_resident);
    free(m.row_live);
    free(m.changes);
    return good;
}

void chunk_map_free(struct chunk_map *map)
{
    free(map->cells);
    *map = (struct chunk_map){0};
}
