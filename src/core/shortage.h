/* What the program is told when memory is short: of the device, so that its data move, or of the host, so
 * that an allocation fails. */
#ifndef SLUICE_SHORTAGE_H
#define SLUICE_SHORTAGE_H

#include <stdbool.h>
#include <stdint.h>

struct sl_core;

struct sl_shortage {
    uint64_t most_moving_bytes; /* of chunks that may move, in use at one time, while memory was short */
    uint64_t most_told_bytes;   /* that the program had, and wanted, when an allocation failed */
    unsigned lines;             /* about such allocations */
    bool has_told;              /* that data move */
};

/* If the user gave no budget and more is in use than the budget: one line says by how much, and what budget
 * lets it fit. Called when an iteration ends, and when the program does: by then the largest need of a step
 * is known. Caller holds the order lock. */
void sl_shortage_say_moving(struct sl_core *core);

/* An allocation of the calling thread fails: a line says where it was, what the program has, what limits it,
 * and what would suffice. The first time, and then when more is wanted than at the last line; a few lines at
 * most. Caller does not hold the order lock. Thread-safe. */
void sl_shortage_say_failed(struct sl_core *core, uint64_t bytes);

#endif
