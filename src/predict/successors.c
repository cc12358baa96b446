#include "predict/successors.h"

#include "base/grow.h"
#include "base/map.h"
#include "base/test_hooks.h"
#include "launch/access.h"

#define NONE SL_NONE
#define MOST ((uint32_t)1 << 18) /* entries of each table; then everything is forgotten */
#define ENOUGH_FED 1024          /* symbols; before, everything counts as mispredicted */
/* The share of mispredicted launches is in units of 1/CERTAIN, a moving mean over LATELY launches. */
enum { CERTAIN = 1 << 16, LATELY = 64, OFTEN = CERTAIN / 8 };
enum { SURE = 2 };                  /* repetitions in a row that make a successor expected */
enum { MOST_STEPS = 4 };            /* from a use to its successor, to the successor of that, and so on */
enum { EARLY = 8, EARLY_PART = 8 }; /* tolerance: launches, or this part of the distance */
enum { MOST_ACCESSES = 64 };        /* of a launch, that are considered */

struct sl_successor_use {
    sl_symbol symbol;   /* of its last launch */
    uint64_t always;    /* bits of the accesses in that launch that all launches of this use had */
    uint64_t took_ns;   /* last known duration of its launches; 0: none */
    uint32_t successor; /* NONE: unknown */
    uint32_t distance;  /* in launches, the last time */
    uint32_t sure;      /* how often in a row this successor came at about this distance */
    bool listed;        /* it is in the heap */
    sl_tick came;
};

struct sl_successor_tensor {
    uint64_t number; /* number of its allocation */
    uint32_t use;    /* its last use, or NONE */
    sl_tick tick;
};

struct sl_successors {
    const struct sl_placement *placement;
    const struct sl_symbols *symbols;
    struct sl_durations *durations;
    struct sl_successor_use *uses;
    struct sl_successor_tensor *tensors;
    uint32_t use_count, use_capacity, tensor_count, tensor_capacity;
    struct sl_map use_of, tensor_of; /* by hash */
    struct sl_successor_item {
        sl_tick tick; /* when it is expected */
        uint32_t use;
    } * heap; /* a binary heap, the earliest on top */
    uint32_t heap_count, heap_capacity;
    uint32_t mispredicted; /* recent share of mispredicted launches, in units of 1/CERTAIN */
    uint64_t launch_ns;    /* duration of the launch being begun; 0: unknown */
};

struct sl_successors *sl_successors_new(const struct sl_placement *placement,
                                        const struct sl_symbols *symbols, struct sl_durations *durations)
{
    struct sl_successors *table = calloc(1, sizeof *table);
    if (table)
        *table = (struct sl_successors){.placement = placement, .symbols = symbols, .durations = durations};
    return table;
}

void sl_successors_forget(struct sl_successors *table)
{
    if (!table) return;
    free(table->uses);
    free(table->tensors);
    free(table->heap);
    sl_map_free(&table->use_of);
    sl_map_free(&table->tensor_of);
    *table = (struct sl_successors){
        .placement = table->placement, .symbols = table->symbols, .durations = table->durations};
}

void sl_successors_delete(struct sl_successors *table)
{
    sl_successors_forget(table);
    free(table);
}

bool sl_successors_are_needed(const struct sl_successors *table, uint64_t fed)
{
    return SL_HAS(SUCCESSORS) && table && fed >= ENOUGH_FED && table->mispredicted >= OFTEN;
}

bool sl_successors_any(const struct sl_successors *table)
{
    return table && table->heap_count > 0;
}

uint64_t sl_successors_launch_ns(const struct sl_successors *table)
{
    return table ? table->launch_ns : 0;
}

/* --- the heap --- */

static bool push(struct sl_successors *table, struct sl_successor_item item)
{
    if (!sl_grow(&table->heap, &table->heap_capacity, table->heap_count, sizeof *table->heap)) return false;
    uint32_t at = table->heap_count++;
    for (; at > 0 && table->heap[(at - 1) / 2].tick > item.tick; at = (at - 1) / 2)
        table->heap[at] = table->heap[(at - 1) / 2];
    table->heap[at] = item;
    return true;
}

static void pop(struct sl_successors *table)
{
    table->uses[table->heap[0].use].listed = false;
    struct sl_successor_item last = table->heap[--table->heap_count];
    uint32_t at = 0;
    for (uint32_t child; (child = 2 * at + 1) < table->heap_count; at = child) {
        if (child + 1 < table->heap_count && table->heap[child + 1].tick < table->heap[child].tick) child++;
        if (table->heap[child].tick >= last.tick) break;
        table->heap[at] = table->heap[child];
    }
    table->heap[at] = last;
}

/* --- tensors and uses by their numbers --- */

static const struct sl_access *accesses_of(const struct sl_successors *table, sl_symbol symbol,
                                           uint32_t *count)
{
    const struct sl_symbol_record *record = &table->symbols->records[symbol];
    *count = record->access_count < MOST_ACCESSES ? record->access_count : MOST_ACCESSES;
    return &table->symbols->accesses[record->first_access];
}

static bool is_same(const struct sl_access *one, const struct sl_access *other)
{
    return one->slot == other->slot && one->offset == other->offset;
}

/* The number for `hash`. A new number equals `count`, and `*array` has room for the new entry, which the
 * caller fills in. NONE: no memory, or the table is full. */
static uint32_t number_of(struct sl_map *map, uint64_t hash, void *array, uint32_t *capacity, uint32_t count,
                          size_t size)
{
    uint32_t known = sl_map_get(map, hash | 1);
    if (known != SL_NONE) return known;
    bool room = count < MOST && sl_grow(array, capacity, count, size) && sl_map_put(map, hash | 1, count);
    return room ? count : NONE;
}

static uint32_t find_tensor(struct sl_successors *table, const struct sl_access *access)
{
    uint64_t hash = sl_hash_word(access->slot, access->offset);
    uint32_t t = number_of(&table->tensor_of, hash, &table->tensors, &table->tensor_capacity,
                           table->tensor_count, sizeof *table->tensors);
    if (t != table->tensor_count) return t;
    table->tensors[table->tensor_count++] = (struct sl_successor_tensor){.use = NONE};
    return t;
}

/* Uses are told apart by the kernel without its grid, because the work of an expert differs each time. */
static uint32_t find_use(struct sl_successors *table, const struct sl_symbol_record *record,
                         const struct sl_access *access)
{
    uint64_t kernel = record->kernel ? record->kernel : record->shape;
    uint64_t hash = sl_hash_word(sl_hash_word(kernel, access->where), access->slot);
    uint32_t u = number_of(&table->use_of, sl_hash_word(hash, access->offset), &table->uses,
                           &table->use_capacity, table->use_count, sizeof *table->uses);
    if (u != table->use_count) return u;
    table->uses[table->use_count++] =
        (struct sl_successor_use){.symbol = SL_NONE, .always = UINT64_MAX, .successor = NONE};
    return u;
}

/* --- learning --- */

static void note_successor(struct sl_successor_use *use, uint32_t successor, uint32_t distance)
{
    uint32_t known = use->distance, off = distance > known ? distance - known : known - distance;
    uint32_t about = known / EARLY_PART > EARLY ? known / EARLY_PART : EARLY;
    use->sure = use->successor == successor && off <= about ? use->sure + 1 : 0;
    use->successor = successor;
    use->distance = distance;
}

static void note_launch(struct sl_successors *table, struct sl_successor_use *use, sl_symbol symbol,
                        sl_tick tick)
{
    uint32_t count, before_count;
    const struct sl_access *now = accesses_of(table, symbol, &count), *before;
    if (use->symbol != SL_NONE) {
        uint64_t took_ns = sl_durations_ns(table->durations, use->symbol, 0);
        if (took_ns) use->took_ns = took_ns;
    }
    if (use->symbol != SL_NONE && use->symbol != symbol) {
        before = accesses_of(table, use->symbol, &before_count);
        for (uint32_t a = 0; a < MOST_ACCESSES; a++)
            if (a >= count || a >= before_count || !is_same(&now[a], &before[a]))
                use->always &= ~((uint64_t)1 << a);
    }
    use->symbol = symbol;
    use->came = tick;
}

/* --- prediction --- */

/* The chunks of the next tensor that all launches of the use had, searched from access *a on. */
static struct sl_chunk_range next_chunks(const struct sl_successors *table,
                                         const struct sl_successor_use *use, uint32_t *a)
{
    uint32_t count;
    const struct sl_access *accesses = accesses_of(table, use->symbol, &count);
    while (*a < count) {
        const struct sl_access *access = &accesses[(*a)++];
        const struct sl_slot *slot = &table->placement->slots[access->slot];
        if (!slot->live || !(use->always >> (*a - 1) & 1)) continue;
        struct sl_chunk_range range = sl_access_range(table->placement, access);
        if (range.count) return range;
    }
    return (struct sl_chunk_range){0};
}

static void expect(struct sl_successors *table, uint32_t u, sl_tick tick)
{
    struct sl_successor_use *use = &table->uses[u];
    struct sl_chunk_range range;
    for (uint32_t a = 0; (range = next_chunks(table, use, &a)).count;)
        for (uint32_t i = 0; i < range.count; i++) {
            struct sl_chunk_record *chunk = sl_arena_record(table->placement->arena, range.first + i);
            if (chunk->deadline < tick) chunk->deadline = tick;
        }
    if (!use->listed) use->listed = push(table, (struct sl_successor_item){tick, u});
}

static void expect_all(struct sl_successors *table, uint32_t u, sl_tick tick)
{
    for (int step = 0; step < MOST_STEPS && table->uses[u].sure >= SURE; step++) {
        tick += table->uses[u].distance;
        u = table->uses[u].successor;
        expect(table, u, tick);
    }
}

void sl_successors_note(struct sl_successors *table, sl_symbol symbol, sl_tick tick, bool predicted,
                        uint64_t fed)
{
    if (!table) return;
    const struct sl_symbol_record *record = &table->symbols->records[symbol];
    uint32_t count;
    const struct sl_access *accesses = accesses_of(table, symbol, &count);
    uint64_t took_ns = UINT64_MAX;
    table->mispredicted += (predicted ? 0 : CERTAIN / LATELY) - table->mispredicted / LATELY;
    bool used = sl_successors_are_needed(table, fed);
    if (table->use_count == MOST || table->tensor_count == MOST) sl_successors_forget(table);
    for (uint32_t a = 0; a < count; a++) {
        uint32_t u = find_use(table, record, &accesses[a]), t = find_tensor(table, &accesses[a]);
        if (u == NONE || t == NONE) break;
        struct sl_successor_tensor *tensor = &table->tensors[t];
        uint64_t number = table->placement->slots[accesses[a].slot].number;
        if (tensor->use != NONE && tensor->number == number && tensor->tick < tick)
            note_successor(&table->uses[tensor->use], u, (uint32_t)(tick - tensor->tick));
        *tensor = (struct sl_successor_tensor){number, u, tick};
        note_launch(table, &table->uses[u], symbol, tick);
        if (table->uses[u].took_ns && table->uses[u].took_ns < took_ns) took_ns = table->uses[u].took_ns;
        if (used) expect_all(table, u, tick);
    }
    table->launch_ns = sl_durations_ns(table->durations, symbol, 0);
    if (!table->launch_ns && took_ns != UINT64_MAX) table->launch_ns = took_ns;
    if (!table->launch_ns) table->launch_ns = sl_durations_ns(table->durations, symbol, record->kernel);
}

static sl_chunk lacking(const struct sl_successors *table, const struct sl_successor_use *use)
{
    struct sl_chunk_range range;
    for (uint32_t a = 0; (range = next_chunks(table, use, &a)).count;)
        for (uint32_t i = 0; i < range.count; i++)
            if (atomic_load(&sl_arena_record(table->placement->arena, range.first + i)->content) ==
                SL_CONTENT_HOST)
                return range.first + i;
    return SL_NONE;
}

sl_chunk sl_successors_next(struct sl_successors *table, sl_tick now, sl_tick *tick)
{
    while (sl_successors_any(table)) {
        const struct sl_successor_use *use = &table->uses[table->heap[0].use];
        *tick = table->heap[0].tick;
        bool came = use->came + EARLY >= *tick, over = *tick + EARLY <= now;
        sl_chunk chunk = came || over ? SL_NONE : lacking(table, use);
        if (chunk != SL_NONE) return chunk;
        pop(table);
    }
    return SL_NONE;
}
