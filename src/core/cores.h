/* The cores of the process: one for each device that it uses, and another one for each context that follows
 * on a device. They are numbered from 0 in the order of their start.
 *
 * A call of the program belongs to the core of the calling thread's device; a call that names an address
 * belongs to the core whose memory that is. With only one core no look-up is made. Thread-safe.
 */
#ifndef SLUICE_CORES_H
#define SLUICE_CORES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SL_MOST_CORES 32

struct sl_core;

/* The number of the core for the calling thread's calls; initially 0. */
extern __thread uint32_t sl_thread_core __attribute__((tls_model("initial-exec")));

static inline void sl_cores_turn_to(uint32_t number)
{
    sl_thread_core = number;
}

/* The number of the next core: a new one or, if there is none left, that of a core that stopped with its
 * device, but never that of the first core. SL_MOST_CORES: none. One thread at a time. */
uint32_t sl_cores_next(void);

/* Whether a second core was ever started. */
bool sl_cores_are_several(void);

/* Finds the core whose memory `address` is, even if the core has stopped. False: no core's. */
bool sl_cores_owner(uint64_t address, uint32_t *number);

/* --- for src/core/ */

/* The running core of the calling thread's device; the running core whose memory `address` is, or, if it is
 * no core's, that of the thread's device; the running core with a number. NULL: it does not run. */
struct sl_core *sl_core_running(void);
struct sl_core *sl_core_of(uint64_t address);
struct sl_core *sl_core_numbered(uint32_t number);
/* `core` if it runs, else NULL. Accepts NULL. */
struct sl_core *sl_core_still(struct sl_core *core);
/* The stopped core whose memory `address` is, as long as that memory exists; else NULL. */
struct sl_core *sl_core_at_rest(uint64_t address);

/* How many numbers are in use, and the latest core of each, running or not. They are kept, because other
 * threads may still use one that stopped. */
uint32_t sl_cores_started(void);
struct sl_core *sl_core_started(uint32_t number);

/* add: the core runs from now on under its number, which sl_cores_next gave. Precondition: no other thread
 * adds a core. remove: the core stops; true if it ran. rest: the core has stopped, but its memory exists.
 * forget: in a child after fork, no core runs or rests. */
void sl_cores_add(struct sl_core *core);
bool sl_cores_remove(struct sl_core *core);
void sl_cores_rest(struct sl_core *core);
void sl_cores_forget(void);

#endif
