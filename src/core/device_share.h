/* How much of a device a process uses beside the user's other managed processes on it.
 *
 * A process with a budget of its user's has that. The others have equal parts of the rest: a process that
 * starts begins with its part, and one that had more gives way at its next look, which needs launches. Where
 * a process ends, the others' parts grow.
 *
 * Each process states in the page of the node (node/page.h) which device it uses, what its user gave it, and
 * what it holds. The others count only if what they hold is missing here: in another container or virtual
 * machine, or on a software device, a device of the same name may be another one. Of a process with several
 * devices only the first is shared so.
 */
#ifndef SLUICE_DEVICE_SHARE_H
#define SLUICE_DEVICE_SHARE_H

#include <stdbool.h>

#include "node/page.h"

struct sl_core;

struct sl_device_share {
    uint64_t id;           /* of the device; 0: it is not shared so */
    uint64_t base_bytes;   /* free at the start, and what the others held then */
    uint64_t others_bytes; /* that the others hold or may come to hold: nobody else has taken these */
    uint32_t count;        /* of the others */
    uint32_t silent_looks; /* since processes are there that have not stated yet what they hold */
};

/* Finds the device and who else is on it. Returns the bytes that this process may count as free: what is, and
 * what the others hold and will share. Before the budget is decided; sl_device_share_begun afterwards, which
 * says so if the budget is a part. */
uint64_t sl_device_share_begin(struct sl_core *core, uint64_t free_bytes, uint64_t total_bytes);
void sl_device_share_begun(struct sl_core *core);

/* Looks who is on the device now, and states what this process holds. Makes some system calls; no lock of the
 * core may be held. */
struct sl_device_users sl_device_share_look(struct sl_core *core);

/* Takes that in: budget.part_bytes is this process's part. A line says when others came or went.
 * `missing_bytes`: of the device, which this process does not hold. True: the part became smaller. Caller
 * holds the order lock. */
bool sl_device_share_take_in(struct sl_core *core, const struct sl_device_users *users,
                             uint64_t missing_bytes);

#endif
