/* Signatures and their interning: launches, allocations and frees that are equal from one iteration to the
 * next get equal symbols, and the symbol's record says what they touch. Never addresses:
 * slots, by name, and offsets.
 * Caller holds the order lock. */
#ifndef SLUICE_SYMBOL_H
#define SLUICE_SYMBOL_H

#include "base/map.h"

enum sl_symbol_kind { SL_SYMBOL_LAUNCH, SL_SYMBOL_ALLOC, SL_SYMBOL_FREE };

/* A launch may touch [offset, offset + bytes) of the slot, or, where bytes is 0, from offset to the end of
 * the tensor that begins there, and at least `at_least` bytes. */
struct sl_access {
    uint32_t slot;
    uint32_t name;  /* of the slot, when the launch got its symbol: see sl_slot_name */
    uint32_t where; /* in the launch: which parameter or span, and where in it */
    uint64_t offset, bytes;
    uint64_t at_least : 63;
    uint64_t only_read : 1; /* surely not written */
    uint64_t parameter;     /* a kernel's number << 32 | where, or 0 */
    uint64_t threads;       /* of the kernel's grid */
};

struct sl_symbol_record {
    enum sl_symbol_kind kind;
    uint32_t slot;           /* of ALLOC and FREE: by its name */
    uint32_t first_access;   /* of LAUNCH: into sl_symbols.accesses */
    uint32_t kernel;         /* of LAUNCH: its number, or 0 */
    uint8_t launch_kind;     /* of LAUNCH: 1 + its enum sl_launch_kind; 0: not known */
    uint8_t doubtful;        /* of LAUNCH: how often in a row it stood for one that differs, */
    uint32_t doubtful_where; /* and in which words: see expected_launch.h */
    uint64_t shape;          /* of LAUNCH: a hash of all but its addresses */
    uint32_t access_count;
    uint32_t sampled;                    /* the round in which a launch of it was timed last: see sample.h */
    uint64_t recorded, recorded_version; /* the tick at which the trace got its accesses; they hold in this
                                            version of the extents and lap of the trace */
    struct sl_launch_cache_entry
        *cached; /* of LAUNCH, once it was expected and came: see launch_cache.h; or NULL */
};

struct sl_symbols {
    struct sl_symbol_record *records;
    uint32_t count, capacity;
    struct sl_access *accesses;
    uint32_t access_count, access_capacity;
    struct sl_map by_hash;
    bool full; /* something found no place since the last clearing */
};

/* At most 2^18 symbols and 2^21 accesses. Symbol 0 stands for a launch that touches nothing, and for all that
 * came after the table was full. */
bool sl_symbols_init(struct sl_symbols *symbols);
void sl_symbols_clear(struct sl_symbols *symbols); /* forgets all symbols, keeps the memory for new ones */
void sl_symbols_close(struct sl_symbols *symbols); /* accepts a zeroed one */

/* Signatures: of an allocation or a free; of a launch, begun with its shape and continued with each access,
 * in any order. */
static inline uint64_t sl_slot_signature(enum sl_symbol_kind kind, uint32_t name)
{
    return sl_hash_word(sl_mix(kind), name);
}
static inline uint64_t sl_launch_signature(uint64_t shape)
{
    return sl_hash_word(SL_SYMBOL_LAUNCH, shape);
}
/* `role`: see sl_kernels_role. */
static inline uint64_t sl_signature_add(uint64_t signature, const struct sl_access *access, uint32_t role)
{
    return signature + sl_hash_word(sl_mix((uint64_t)role << 32 | access->name), access->offset);
}

/* The symbol with this signature; a new one gets a copy of the record and its accesses. 0 when the table is
 * full. */
sl_symbol sl_symbols_intern(struct sl_symbols *symbols, uint64_t signature, struct sl_symbol_record record,
                            const struct sl_access *accesses);

/* The symbol, which has as many accesses, came again: they are those of the slots that are called as they are
 * now. */
void sl_symbols_follow(struct sl_symbols *symbols, sl_symbol symbol, const struct sl_access *accesses);

/* The symbol stands for launches that use as much as `accesses` say, too: its own ones, of other sizes. */
void sl_symbols_widen(struct sl_symbols *symbols, sl_symbol symbol, const struct sl_access *accesses);

/* The symbol stands for launches that have but those accesses of it for which `kept` is set, and is found by
 * their `signature` too. */
void sl_symbols_narrow(struct sl_symbols *symbols, sl_symbol symbol, const bool *kept, uint64_t signature);

#endif
