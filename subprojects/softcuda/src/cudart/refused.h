/* The only function that refused.c needs from the other files. */
#ifndef SOFTCUDA_CUDART_REFUSED_H
#define SOFTCUDA_CUDART_REFUSED_H

#include "names12.h"

/* Sets this thread's last error and returns it. */
int sc_refuse(int error);

#endif
