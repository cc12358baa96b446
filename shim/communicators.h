/* NCCL's communicators, numbered alike on all ranks so that their traces can be compared. Thread-safe. */
#ifndef SLUICE_SHIM_COMMUNICATORS_H
#define SLUICE_SHIM_COMMUNICATORS_H

#include <stddef.h>
#include <stdint.h>

/* The number of a communicator made from `bytes` bytes that all ranks share. Never 0. */
uint64_t sl_communicator_number(const void *id, size_t bytes);

/* Gives the communicator this number, replacing that of an earlier communicator at its address. */
void sl_communicator_note(const void *communicator, uint64_t number);
/* The number of a communicator that comes from a split by all ranks of `parent`; depends on how often they
 * split it, and on `group`, a word for each group. */
uint64_t sl_communicator_split(const void *parent, uint64_t group);

/* The number of the communicator; 0: unknown. */
uint64_t sl_communicator(const void *communicator);

#endif
