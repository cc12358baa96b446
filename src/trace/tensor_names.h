/* What PyTorch calls the tensors of a program: its parameters, buffers, gradients and optimizer state. */
#ifndef SLUICE_TENSOR_NAMES_H
#define SLUICE_TENSOR_NAMES_H

#include "base/types.h"

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
