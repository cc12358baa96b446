/* Names the file that holds NVIDIA's CUDA runtime, which needs tables of NVIDIA's driver that do not exist here:
 * a program or a library that is linked with the static runtime, or the vendor's libcudart.so. */
#ifndef SOFTCUDA_FOREIGN_RUNTIME_H
#define SOFTCUDA_FOREIGN_RUNTIME_H

/* Logs one line for each file, with the remedy. `caller` is an address in its code; of softcuda's own libraries
 * nothing is said. Any thread. */
void sc_foreign_runtime(const void *caller);

#endif
