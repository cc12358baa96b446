/* Whether another process still runs. */
#ifndef SOFTCUDA_LIVENESS_H
#define SOFTCUDA_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

/* This process, as no other is called: its number and when it started. 0: /proc cannot be read. */
uint64_t sc_liveness_self(void);

/* A process that is watched. */
struct sc_watched {
    uint64_t owner; /* 0: nobody */
    int file;       /* its pidfd, or -1 */
};

/* Begins to watch; a process that is this one is never dead. */
void sc_liveness_watch(uint64_t owner, struct sc_watched *out);
bool sc_liveness_is_dead(const struct sc_watched *watched);
void sc_liveness_forget(struct sc_watched *watched);

#endif
