/* Where the calling thread is in Python. One interpreter function runs all Python lines, so their C stacks
 * are equal; by these alone, frameworks would have one site for all tensors of a kind.
 *
 * Only reads the frames of the calling thread, which do not change during the call. So it needs neither the
 * GIL nor a Python function that takes it.
 */
#ifndef SLUICE_PYTHON_FRAMES_H
#define SLUICE_PYTHON_FRAMES_H

#include "base/types.h"

/* Looks for CPython 3.11 to 3.13 in the process; without it sl_python_frames_hash returns 0. May wait for a
 * thread that loads a library, so it must be called at the start of the process. */
void sl_python_frames_open(void);

/* Whether it was found. */
bool sl_python_frames_known(void);

/* A hash of the innermost Python frames: the first line, qualified name length and instruction of each
 * function. Equal in every run of the same program. 0: the thread is in no Python function, or the
 * interpreter ends. Thread-safe. */
uint64_t sl_python_frames_hash(void);

#define SL_PYTHON_FRAMES 16
#define SL_PYTHON_TEXT 768

struct sl_python_frame {
    uint32_t line;             /* 0: unknown */
    char text[SL_PYTHON_TEXT]; /* UTF-8: the qualified name of the function, a space, the source file */
};

/* Describes the innermost frames, at most SL_PYTHON_FRAMES: calls `each`, innermost first, with a frame that
 * is valid during the call. Thread-safe. */
void sl_python_frames_each(void (*each)(const struct sl_python_frame *frame, uint32_t depth, void *context),
                           void *context);

/* Appends a str object of CPython 3.`minor` as UTF-8 to `out`, which holds a string in `room` bytes; cuts it
 * at a whole character. Control characters become ?. Allocates nothing. */
void sl_python_text(const char *object, unsigned minor, char *out, size_t room);

/* The format is that of CPython's Objects/locations.md.
 * The line of the instruction at `offset` code units of a function that begins at `first_line`; 0: none, or
 * the table ends before it. `table`: `bytes` bytes of a location table. */
uint32_t sl_python_line(const uint8_t *table, size_t bytes, uint32_t first_line, uint64_t offset);

/* Sets *function, a pointer to a function, to Python's of this name. False: there is none. May wait for a
 * thread that loads a library. */
bool sl_python_find(const char *name, void *function);

/* Whether an interpreter runs; until sl_python_release it frees nothing of its threads then: its end waits,
 * for a second at most. The first call has Python register this in the module `atexit`, between two of its
 * instructions; until then, and for a program that clears what is registered there, the end does not wait.
 * After the end of a process's first interpreter it is always false. Thread-safe; needs no GIL. */
bool sl_python_hold(void);
void sl_python_release(void);

/* In a child after fork: holders of other threads do not exist. */
void sl_python_after_fork(void);

/* --- tensor_names.c: what PyTorch calls the tensors of a program: its parameters, buffers, gradients and
 * optimizer state. */

/* Looks for the functions of Python that are needed, if sl_python_frames_open has found one that it knows.
 * May wait for a thread that loads a library, so it must be called at the start of the process. */
void sl_tensor_names_open(void);

/* Asks PyTorch; then the trace gets a record for each tensor with a name. Python calls back in its main
 * thread, between two of its instructions and with the GIL, so this needs no GIL and does not wait. The call
 * looks through the objects of the garbage collector for modules and optimizers, only reads these, and
 * computes nothing. Nothing happens without PyTorch. Thread-safe. */
void sl_tensor_names_ask(void);

/* Writes a record for each line "ADDRESS BYTES NAME", decimal; lines of another form are left out. Returns
 * the number of records. */
uint32_t sl_tensor_names_emit(const char *lines);

#endif
