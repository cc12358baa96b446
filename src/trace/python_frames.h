/* Where the calling thread is in Python. The C stack is the same for every line of a program, as one function
 * of the interpreter runs them all, so frameworks would have one site for all tensors of a kind.
 *
 * Reads the frames of the calling thread alone, which do not change while it is in here, so neither the GIL
 * is needed nor anything of Python called that would take it. */
#ifndef SLUICE_PYTHON_FRAMES_H
#define SLUICE_PYTHON_FRAMES_H

#include "base/types.h"

/* Looks for CPython 3.11 to 3.13 in the process; without one nothing is found later either. Waits for whoever
 * loads a library, so this is for the start of the process. */
void sl_python_frames_open(void);

/* A hash of the innermost Python frames: of each the function's first line, the length of its qualified name
 * and the instruction. Equal in every run of the same program. 0: the thread is in no Python function.
 * Thread-safe. */
uint64_t sl_python_frames_hash(void);

#endif
