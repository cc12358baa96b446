#ifndef SOFTCUDA_CUBLAS_REFUSED_H
#define SOFTCUDA_CUBLAS_REFUSED_H

/* Logs the name; returns CUBLAS_STATUS_NOT_SUPPORTED. */
int sc_refuse_function(const char *name);

#endif
