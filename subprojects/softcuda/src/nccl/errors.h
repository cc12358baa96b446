/* Error messages, for the log and for ncclGetLastError. */
#ifndef SOFTCUDA_NCCL_ERRORS_H
#define SOFTCUDA_NCCL_ERRORS_H

#include "api.h"

/* Logs "NCCL: ..." and stores it for ncclGetLastError; returns `result`. Thread-safe. */
ncclResult_t sc_fail(ncclResult_t result, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
