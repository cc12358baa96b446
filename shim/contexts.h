/* The contexts of the process: those that it made or that were seen current, and which of them are known not
 * to be managed. Says whether a thread may trust what it saw of its current context (sl_session_view).
 * Thread-safe. */
#ifndef SLUICE_SHIM_CONTEXTS_H
#define SLUICE_SHIM_CONTEXTS_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

#define SL_MOST_CONTEXTS 64 /* that are followed; if there are more, no thread trusts what it saw */

/* The context exists. Nothing is known of it beyond that. */
void sl_context_made(CUcontext context);
/* The context ends: its handle may be that of another one later. */
void sl_context_gone(CUcontext context);

/* The primary context of `device` was retained. */
void sl_context_retained(CUdevice device, CUcontext context);
/* The primary context of `device` if this release, or a reset, ends it; otherwise NULL. */
CUcontext sl_context_released(CUdevice device, bool reset);
bool sl_context_is_primary(CUcontext context);

/* The context, of `device`, is not managed. */
void sl_context_is_beside(CUcontext context, CUdevice device);
/* Whether it is known not to be managed. Takes no lock. */
bool sl_context_known_beside(CUcontext context);
/* No context of the device is managed any more: nothing is known of the others of the device from now on. */
void sl_contexts_reconsider(CUdevice device);
/* Publishes whether threads may trust what they saw. */
void sl_contexts_publish(void);

/* For the child after fork. */
void sl_contexts_after_fork(void);

#endif
