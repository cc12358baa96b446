/* The cores of the process: one for each device that it uses, numbered from 0 in the order in which they
 * started.
 *
 * A call of the program is for the core of the device that the calling thread uses, and what names an address
 * for that whose memory it is. With one core both are that one, and nothing else is looked at. Thread-safe.
 */
#ifndef SLUICE_CORES_H
#define SLUICE_CORES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SL_MOST_CORES 32

struct sl_core;

/* The core for the calling thread's calls from now on; at first it is number 0. */
extern __thread uint32_t sl_thread_core __attribute__((tls_model("initial-exec")));

static inline void sl_cores_turn_to(uint32_t number)
{
    sl_thread_core = number;
}

/* Whether there is, or was, more than one. */
bool sl_cores_are_several(void);

/* Whose memory `address` is, also after that core has stopped. False: no core's. */
bool sl_cores_owner(uint64_t address, uint32_t *number);

/* --- for src/core/ */

/* The running core that the calling thread uses, that whose memory `address` is (or, if it is nobody's, the
 * former), and that with a number; or NULL. */
struct sl_core *sl_core_running(void);
struct sl_core *sl_core_of(uint64_t address);
struct sl_core *sl_core_numbered(uint32_t number);
/* `core` if it runs, or NULL, which it may be as well. */
struct sl_core *sl_core_still(struct sl_core *core);
/* The core of `address` after the stop, while its memory is still there; or NULL. */
struct sl_core *sl_core_at_rest(uint64_t address);

/* So many were started, running or not; they are kept until the process ends. */
uint32_t sl_cores_started(void);
struct sl_core *sl_core_started(uint32_t number);

/* It runs from now on, with the next number; pre: there is one, and nobody else does so meanwhile. It does no
 * more: true where it did. It rests. None runs or rests, in a child. */
void sl_cores_add(struct sl_core *core);
bool sl_cores_remove(struct sl_core *core);
void sl_cores_rest(struct sl_core *core);
void sl_cores_forget(void);

#endif
