/* When the Python interpreter ends. It then frees what it knows of its threads, also of those that are inside
 * calls of C, without a word to them. */
#ifndef SLUICE_PYTHON_END_H
#define SLUICE_PYTHON_END_H

#include "base/types.h"

/* Looks for the functions of Python that are needed. May wait for a thread that loads a library, so it must
 * be called at the start of the process. Returns whether there is an interpreter. */
bool sl_python_end_open(void);

/* Whether an interpreter runs; until sl_python_release it frees nothing of its threads then: its end waits,
 * for a second at most. The first call has Python register this in the module `atexit`, between two of its
 * instructions; until then, and for a program that clears what is registered there, the end does not wait.
 * After the end of a process's first interpreter it is always false. Thread-safe; needs no GIL. */
bool sl_python_hold(void);
void sl_python_release(void);

/* In a child after fork: holders of other threads do not exist. */
void sl_python_after_fork(void);

#endif
