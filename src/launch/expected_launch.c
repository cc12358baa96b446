#include "launch/expected_launch.h"

#include <string.h>

#define MOST_DIFFERENT 2 /* words: more mean other tensors */

/* Whether it is the launch word by word. If so, its words need not be looked up. */
static bool is_launch(struct sl_scanner *scanner, sl_symbol symbol, uint64_t shape)
{
    if (symbol >= scanner->symbols->count) return false;
    struct sl_symbol_record *record = &scanner->symbols->records[symbol];
    if (record->kind != SL_SYMBOL_LAUNCH || record->shape != shape ||
        record->access_count != scanner->usage.word_count)
        return false;
    const struct sl_access *accesses = &scanner->symbols->accesses[record->first_access];
    for (uint32_t w = 0; w < scanner->usage.word_count; w++) {
        const struct sl_slot *slot = &scanner->placement->slots[accesses[w].slot];
        if (!slot->live || slot->address + accesses[w].offset != scanner->usage.words[w].address ||
            accesses[w].where != scanner->usage.words[w].where)
            return false;
    }
    record->doubtful = 0;
    scanner->usage.accesses = accesses;
    scanner->usage.access_count = record->access_count;
    scanner->usage.came_as_expected = true;
    return true;
}

/* The live access of the record that matches the word, searched from `first` on; SL_NONE: none. */
static uint32_t find_access(const struct sl_scanner *scanner, const struct sl_symbol_record *record,
                            const struct sl_word *word, uint32_t first)
{
    uint32_t role = sl_kernels_role(&scanner->kernels, word->parameter, word->where);
    for (uint32_t i = 0; i < record->access_count; i++) {
        uint32_t a = first + i < record->access_count ? first + i : first + i - record->access_count;
        const struct sl_access *access = &scanner->symbols->accesses[record->first_access + a];
        const struct sl_slot *slot = &scanner->placement->slots[access->slot];
        if (slot->live && slot->address + access->offset == word->address &&
            sl_kernels_role(&scanner->kernels, access->parameter, access->where) == role)
            return a;
    }
    return SL_NONE;
}

static bool is_by_stale_word(const struct sl_scanner *scanner, const struct sl_access *access)
{
    const struct sl_kernel *kernel = &scanner->kernels.kernels[access->parameter >> 32];
    for (uint32_t w = 0; access->parameter >> 32 && w < kernel->word_count; w++)
        if (kernel->words[w] == access->where) return sl_word_is_stale(&kernel->evidence[w]);
    return false;
}

/* Whether `where` in the kernel's parameters is a word of a structure. */
static bool is_in_structure(const struct sl_scanner *scanner, uint64_t parameter, uint32_t where)
{
    const struct sl_kernel *kernel = &scanner->kernels.kernels[parameter >> 32];
    return parameter >> 32 && where >> 16 < kernel->parameter_count &&
           kernel->sizes[where >> 16] > sizeof(uint64_t);
}

/* Whether only words of structures differ. */
static bool match(const struct sl_scanner *scanner, const struct sl_symbol_record *record,
                  struct sl_matching *matching)
{
    const struct sl_access *accesses = &scanner->symbols->accesses[record->first_access];
    uint32_t count = record->access_count;
    memset(matching->used, 0, count);
    matching->used_count = matching->stale = matching->more = matching->less = matching->where = 0;
    for (uint32_t w = 0; w < scanner->usage.word_count; w++) {
        const struct sl_word *word = &scanner->usage.words[w];
        uint32_t a = find_access(scanner, record, word, w < count ? w : 0);
        if (a != SL_NONE) {
            matching->used[a] = true;
        } else {
            if (!is_in_structure(scanner, word->parameter, word->where)) return false;
            matching->more++;
            matching->where += (uint32_t)sl_mix(word->where);
        }
    }
    for (uint32_t a = 0; a < count; a++) {
        if (matching->used[a]) {
            matching->used_count++;
        } else if (is_by_stale_word(scanner, &accesses[a])) {
            matching->stale++;
        } else {
            if (!is_in_structure(scanner, accesses[a].parameter, accesses[a].where)) return false;
            matching->less++;
            matching->where += (uint32_t)sl_mix(accesses[a].where);
        }
    }
    return true;
}

/* Removes the symbol's accesses by stale words. */
static void narrow(const struct sl_scanner *scanner, sl_symbol symbol, const struct sl_matching *matching)
{
    const struct sl_symbol_record *record = &scanner->symbols->records[symbol];
    const struct sl_access *accesses = &scanner->symbols->accesses[record->first_access];
    uint64_t signature = sl_launch_signature(record->shape);
    for (uint32_t a = 0; a < record->access_count; a++) {
        if (!matching->used[a]) continue;
        uint32_t role = sl_kernels_role(&scanner->kernels, accesses[a].parameter, accesses[a].where);
        signature = sl_signature_add(signature, &accesses[a], role);
    }
    sl_symbols_narrow(scanner->symbols, symbol, matching->used, signature);
}

/* Accepts the launch as the expected one this time, without the accesses that it lacks. */
static bool accept_doubtful(struct sl_scanner *scanner, struct sl_symbol_record *record,
                            const struct sl_matching *matching)
{
    bool moved = matching->more && matching->less; /* an address in another place, or another address */
    bool again = record->doubtful && record->doubtful_where == matching->where;
    if (moved || matching->more + matching->less > MOST_DIFFERENT || !matching->used_count ||
        (again && record->doubtful >= SL_MOST_DOUBTFUL) || !sl_scanner_reserve_resolved(scanner))
        return false;
    record->doubtful = again ? record->doubtful + 1 : 1;
    record->doubtful_where = matching->where;
    const struct sl_access *accesses = &scanner->symbols->accesses[record->first_access];
    scanner->usage.accesses = scanner->resolved;
    scanner->usage.access_count = 0;
    scanner->usage.came_as_expected = false;
    for (uint32_t a = 0; a < record->access_count; a++)
        if (matching->used[a]) scanner->resolved[scanner->usage.access_count++] = accesses[a];
    return true;
}

static bool is_launch_but_for_words(struct sl_scanner *scanner, sl_symbol symbol, uint64_t shape)
{
    struct sl_matching *matching = &scanner->matching;
    if (symbol >= scanner->symbols->count || !scanner->usage.kernel) return false;
    struct sl_symbol_record *record = &scanner->symbols->records[symbol];
    if (record->kind != SL_SYMBOL_LAUNCH || record->shape != shape || record->access_count > SL_MAX_WORDS ||
        !match(scanner, record, matching))
        return false;
    if (matching->more || matching->less) return accept_doubtful(scanner, record, matching);
    record->doubtful = 0;
    if (matching->stale) narrow(scanner, symbol, matching);
    scanner->usage.accesses = &scanner->symbols->accesses[record->first_access];
    scanner->usage.access_count = matching->used_count;
    scanner->usage.came_as_expected = true;
    return true;
}

bool sl_is_expected_launch(struct sl_scanner *scanner, sl_symbol expected, uint64_t shape)
{
    return is_launch(scanner, expected, shape) || is_launch_but_for_words(scanner, expected, shape);
}

bool sl_is_expected_resized(const struct sl_scanner *scanner, const struct sl_launch *launch,
                            sl_symbol symbol)
{
    const struct sl_usage *usage = &scanner->usage;
    if (symbol >= scanner->symbols->count || launch->footprint || !usage->access_count) return false;
    const struct sl_symbol_record *record = &scanner->symbols->records[symbol];
    if (record->kind != SL_SYMBOL_LAUNCH || record->launch_kind != 1 + launch->kind ||
        record->kernel != usage->kernel || record->access_count != usage->access_count)
        return false;
    const struct sl_access *accesses = &scanner->symbols->accesses[record->first_access];
    for (uint32_t a = 0; a < usage->access_count; a++) {
        const struct sl_access *own = &accesses[a], *came = &usage->accesses[a];
        if (own->slot != came->slot || own->offset != came->offset || own->where != came->where ||
            own->parameter != came->parameter || own->only_read != came->only_read)
            return false;
    }
    return true;
}
