/* Which of the driver's two kinds each handle of a kernel is. A launch names a CUkernel or a CUfunction in
 * the same argument, and a driver may crash when it is asked about one as if it were the other. So the kind
 * is noted where the program gets a handle. Thread-safe; the lock is held for look-ups only.
 */
#ifndef SLUICE_HANDLE_H
#define SLUICE_HANDLE_H

#include <stdint.h>

enum sl_handle_kind {
    SL_HANDLE_UNKNOWN,
    SL_HANDLE_KERNEL,   /* a CUkernel, of a library */
    SL_HANDLE_FUNCTION, /* a CUfunction, of a module */
};

/* The driver gave out `handle`, which lives as long as `owner`, a library or module; 0: not known. What was
 * noted for it before is replaced: a driver uses addresses again. */
void sl_handle_note(uint64_t handle, enum sl_handle_kind kind, uint64_t owner);
/* The same of a handle that the driver names without having given it out, unless something is known of it. */
void sl_handle_note_unless_known(uint64_t handle, enum sl_handle_kind kind);

enum sl_handle_kind sl_handle_kind(uint64_t handle);
/* Whose the handle is, or 0. */
uint64_t sl_handle_owner(uint64_t handle);

/* To be called before `owner` is unloaded. Forgets its handles and those whose owner is not known. */
void sl_handles_forget(uint64_t owner);

/* The child's part of fork: it has no use for its parent's handles. */
void sl_handles_after_fork(void);

#endif
