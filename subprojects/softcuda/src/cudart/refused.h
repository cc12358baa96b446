/* The one thing that refused.c needs of the rest. */
#ifndef SOFTCUDA_CUDART_REFUSED_H
#define SOFTCUDA_CUDART_REFUSED_H

#include "names12.h"

/* Notes a cudaError_t as this thread's last error and returns it. */
int sc_refuse(int error);

#endif
