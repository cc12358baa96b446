/* Operations of atom, red and redux. */
#ifndef SOFTCUDA_ENGINE_ATOMICS_H
#define SOFTCUDA_ENGINE_ATOMICS_H

#include <stdint.h>

enum sc_atomic {
    SC_ATOMIC_ADD,
    SC_ATOMIC_MIN,
    SC_ATOMIC_MAX,
    SC_ATOMIC_AND,
    SC_ATOMIC_OR,
    SC_ATOMIC_XOR,
    SC_ATOMIC_EXCH,
    SC_ATOMIC_CAS,
    SC_ATOMIC_INC,
    SC_ATOMIC_DEC,
};

/* Modes of shuffle, vote and match, in sc_access.operation */
enum sc_shuffle { SC_SHUFFLE_UP, SC_SHUFFLE_DOWN, SC_SHUFFLE_BFLY, SC_SHUFFLE_IDX };
enum sc_vote { SC_VOTE_ALL, SC_VOTE_ANY, SC_VOTE_UNI, SC_VOTE_BALLOT };
enum sc_match { SC_MATCH_ANY, SC_MATCH_ALL };

/* Returns the new value of a cell of `bytes` bytes. type: 'u', 's', 'b', 'f', 'h' (f16), 'g' (bf16), 'H', 'G'
 * (pairs). */
uint64_t sc_atomic_apply(unsigned operation, char type, unsigned bytes, uint64_t old, uint64_t b, uint64_t c);

#endif
