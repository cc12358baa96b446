#include "launch/symbols.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define MAX_SYMBOLS ((uint32_t)1 << 18)
#define MAX_ACCESSES ((uint32_t)1 << 21)

bool sl_symbols_init(struct sl_symbols *symbols)
{
    *symbols = (struct sl_symbols){0};
    if (!sl_grow(&symbols->records, &symbols->capacity, 0, sizeof *symbols->records)) return false;
    sl_symbols_clear(symbols);
    return true;
}

void sl_symbols_clear(struct sl_symbols *symbols)
{
    for (uint32_t s = 0; s < symbols->count; s++) free(symbols->records[s].cached);
    sl_map_free(&symbols->by_hash);
    symbols->count = symbols->records ? 1 : 0;
    symbols->access_count = 0;
    symbols->full = false;
    if (symbols->records) symbols->records[0] = (struct sl_symbol_record){0};
}

void sl_symbols_close(struct sl_symbols *symbols)
{
    sl_symbols_clear(symbols);
    free(symbols->records);
    free(symbols->accesses);
    *symbols = (struct sl_symbols){0};
}

/* Makes room for one record with `accesses` accesses. */
static bool reserve(struct sl_symbols *symbols, uint32_t accesses)
{
    if (symbols->count == MAX_SYMBOLS || accesses > MAX_ACCESSES - symbols->access_count)
        return !(symbols->full = true);
    return sl_grow(&symbols->records, &symbols->capacity, symbols->count, sizeof *symbols->records) &&
           sl_grow_by(&symbols->accesses, &symbols->access_capacity, symbols->access_count, accesses,
                      sizeof *symbols->accesses);
}

/* The symbol's record is now of a launch of other slots, perhaps in another size. */
static void change(struct sl_symbol_record *record, uint64_t shape)
{
    record->shape = shape;
    record->recorded = 0; /* the trace gets the accesses again */
    free(record->cached);
    record->cached = NULL;
}

/* Updates the slots of the symbol's accesses from its latest occurrence, where their names are the same. */
static void follow(const struct sl_symbols *symbols, struct sl_symbol_record *record, uint64_t shape,
                   const struct sl_access *accesses)
{
    struct sl_access *own = &symbols->accesses[record->first_access];
    bool changed = false;
    for (uint32_t a = 0; a < record->access_count; a++) {
        bool same = own[a].name == accesses[a].name && own[a].where == accesses[a].where;
        if (!same || (own[a].slot == accesses[a].slot && own[a].offset == accesses[a].offset)) continue;
        own[a] = accesses[a];
        changed = true;
    }
    if (changed) change(record, shape);
}

sl_symbol sl_symbols_intern(struct sl_symbols *symbols, uint64_t signature, struct sl_symbol_record record,
                            const struct sl_access *accesses)
{
    signature |= 1;
    uint32_t known = sl_map_get(&symbols->by_hash, signature);
    if (known != SL_NONE) {
        if (symbols->records[known].access_count == record.access_count)
            follow(symbols, &symbols->records[known], record.shape, accesses);
        return known;
    }
    if (!reserve(symbols, record.access_count) || !sl_map_put(&symbols->by_hash, signature, symbols->count))
        return 0;
    record.first_access = symbols->access_count;
    if (record.access_count)
        memcpy(symbols->accesses + symbols->access_count, accesses, record.access_count * sizeof *accesses);
    symbols->access_count += record.access_count;
    symbols->records[symbols->count] = record;
    return symbols->count++;
}

void sl_symbols_widen(struct sl_symbols *symbols, sl_symbol symbol, const struct sl_access *accesses)
{
    struct sl_symbol_record *record = &symbols->records[symbol];
    for (uint32_t a = 0; a < record->access_count; a++) {
        struct sl_access *own = &symbols->accesses[record->first_access + a];
        const struct sl_access *other = &accesses[a];
        if (other->bytes <= own->bytes && other->at_least <= own->at_least) continue;
        if (other->bytes > own->bytes) own->bytes = other->bytes;
        if (other->at_least > own->at_least) own->at_least = other->at_least;
        if (other->threads > own->threads) own->threads = other->threads;
        record->recorded = 0; /* the trace gets the accesses again */
    }
}

void sl_symbols_replace(struct sl_symbols *symbols, sl_symbol symbol, uint64_t shape,
                        const struct sl_access *accesses)
{
    struct sl_symbol_record *record = &symbols->records[symbol];
    memcpy(&symbols->accesses[record->first_access], accesses, record->access_count * sizeof *accesses);
    change(record, shape);
}

void sl_symbols_narrow(struct sl_symbols *symbols, sl_symbol symbol, const bool *kept, uint64_t signature)
{
    struct sl_symbol_record *record = &symbols->records[symbol];
    struct sl_access *accesses = symbols->accesses + record->first_access;
    uint32_t left = 0;
    for (uint32_t a = 0; a < record->access_count; a++)
        if (kept[a]) accesses[left++] = accesses[a];
    record->access_count = left;
    change(record, record->shape);
    signature |= 1;
    if (sl_map_get(&symbols->by_hash, signature) == SL_NONE)
        (void)sl_map_put(&symbols->by_hash, signature, symbol); /* on failure it gets another symbol */
}
