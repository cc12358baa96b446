/* NCCL's communicators, by a number that all ranks have alike: so that their traces can be laid side by side.
 * Thread-safe. */
#ifndef SLUICE_SHIM_COMMUNICATORS_H
#define SLUICE_SHIM_COMMUNICATORS_H

#include <stddef.h>
#include <stdint.h>

/* The number of a communicator that is made of `bytes` bytes which all ranks have. Never 0. */
uint64_t sl_communicator_number(const void *id, size_t bytes);

/* The communicator has this number from now on, in place of a former one at its address. */
void sl_communicator_note(const void *communicator, uint64_t number);
/* The number of one that all of its ranks split, as often as they did so far, with this word of each group.
 */
uint64_t sl_communicator_split(const void *parent, uint64_t group);

/* Of the communicator; 0: not known. */
uint64_t sl_communicator(const void *communicator);

#endif
