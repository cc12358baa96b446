/* Whether another process still runs. */
#ifndef SOFTCUDA_LIVENESS_H
#define SOFTCUDA_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

/* Identifies this process uniquely: its process number and its start time, which is 0 if /proc cannot be
 * read. */
uint64_t sc_liveness_self(void);

/* A process that is being watched. */
struct sc_watched {
    uint64_t owner; /* from sc_liveness_self; 0: no process */
    int file;       /* its pidfd, or -1 */
};

/* Begins to watch a process. This process itself is never reported dead. */
void sc_liveness_watch(uint64_t owner, struct sc_watched *out);
bool sc_liveness_is_dead(const struct sc_watched *watched);
void sc_liveness_forget(struct sc_watched *watched);

#endif
