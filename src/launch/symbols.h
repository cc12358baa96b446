/* Signatures and their interning: launches, allocations and frees that are equal in every iteration get equal
 * symbols, and the symbol's record says what they touch. Signatures contain slot names and offsets, never
 * addresses. Caller holds the order lock. */
#ifndef SLUICE_SYMBOL_H
#define SLUICE_SYMBOL_H

#include "base/map.h"

enum sl_symbol_kind { SL_SYMBOL_LAUNCH, SL_SYMBOL_ALLOC, SL_SYMBOL_FREE };

/* A launch may touch [offset, offset + bytes) of the slot. If bytes is 0, it may touch the range from offset
 * to the end of the tensor that begins there, and at least `at_least` bytes. */
struct sl_access {
    uint32_t slot;
    uint32_t name;  /* of the slot, when the launch got its symbol: see sl_slot_name */
    uint32_t where; /* in the launch: parameter or span, and offset in it */
    uint64_t offset, bytes;
    uint64_t at_least : 63;
    uint64_t only_read : 1; /* known not to be written */
    uint64_t parameter;     /* a kernel's number << 32 | `where`, or 0 */
    uint64_t threads;       /* of the kernel's grid */
};

struct sl_symbol_record {
    enum sl_symbol_kind kind;
    uint32_t slot;           /* of ALLOC and FREE: slot name */
    uint32_t first_access;   /* of LAUNCH: index into sl_symbols.accesses */
    uint32_t kernel;         /* of LAUNCH: its number, or 0 */
    uint8_t launch_kind;     /* of LAUNCH: 1 + its enum sl_launch_kind; 0: unknown */
    uint8_t doubtful;        /* of LAUNCH: how often in a row it stood for a launch that differs */
    uint32_t doubtful_where; /* hash of the differing words: see expected_launch.c */
    uint64_t shape;          /* of LAUNCH: a hash of all but its addresses */
    uint32_t access_count;
    uint32_t sampled;                     /* round in which a launch of it was last timed: see sample.h */
    uint64_t recorded, recorded_version;  /* the tick at which the trace got its accesses; they hold in this
                                             version of the extents and lap of the trace */
    struct sl_launch_cache_entry *cached; /* of LAUNCH: see expected_launch.c; or NULL */
};

struct sl_symbols {
    struct sl_symbol_record *records;
    uint32_t count, capacity;
    struct sl_access *accesses;
    uint32_t access_count, access_capacity;
    struct sl_map by_hash;
    bool full; /* something did not fit since the last clearing */
};

/* At most 2^18 symbols and 2^21 accesses. Symbol 0 stands for a launch that touches nothing, and for
 * everything that comes when the table is full. */
bool sl_symbols_init(struct sl_symbols *symbols);
void sl_symbols_clear(struct sl_symbols *symbols); /* keeps the memory for new ones */
void sl_symbols_close(struct sl_symbols *symbols); /* accepts a zeroed one */

/* Signatures of an allocation or a free, and of a launch: begun with its shape and extended by each access,
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
static inline uint64_t sl_signature_add(uint64_t signature, uint32_t role, uint32_t name, uint64_t offset)
{
    return signature + sl_hash_word(sl_mix((uint64_t)role << 32 | name), offset);
}

/* The symbol with this signature; a new one gets a copy of the record and its accesses. A known one with as
 * many accesses gets the slots of those whose names are the same. 0: the table is full. */
sl_symbol sl_symbols_intern(struct sl_symbols *symbols, uint64_t signature, struct sl_symbol_record record,
                            const struct sl_access *accesses);

/* Widens the symbol's accesses to those of `accesses`, the same launch in another size. */
void sl_symbols_widen(struct sl_symbols *symbols, sl_symbol symbol, const struct sl_access *accesses);

/* The symbol is of a launch with this shape and these accesses, of which there are as many, from now on. */
void sl_symbols_replace(struct sl_symbols *symbols, sl_symbol symbol, uint64_t shape,
                        const struct sl_access *accesses);

/* Keeps only those accesses of the symbol for which `kept` is set, and makes it known under `signature`
 * too. */
void sl_symbols_narrow(struct sl_symbols *symbols, sl_symbol symbol, const bool *kept, uint64_t signature);

#endif
