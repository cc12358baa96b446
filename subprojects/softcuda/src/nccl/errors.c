#include "errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "driver/log.h"

#define MOST 256

/* Per thread, so that the text returned by ncclGetLastError does not change when other threads fail. */
static _Thread_local char last[MOST];
/* The last message of any thread: kernels fail in driver threads. */
static char latest[MOST];
static int taken; /* atomic spin lock of `latest` */

static void take(void)
{
    while (__atomic_exchange_n(&taken, 1, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
}

static void put(void)
{
    __atomic_store_n(&taken, 0, __ATOMIC_RELEASE);
}

ncclResult_t sc_fail(ncclResult_t result, const char *format, ...)
{
    char text[MOST];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sc_log("NCCL: %s", text);
    take();
    memcpy(latest, text, sizeof text);
    put();
    return result;
}

const char *ncclGetLastError(ncclComm_t comm)
{
    (void)comm; /* the vendor's library ignores it, too */
    take();
    memcpy(last, latest, sizeof last);
    put();
    return last;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    static const char *const texts[ncclNumResults] = {
        [ncclSuccess] = "no error",
        [ncclUnhandledCudaError] = "a CUDA call failed",
        [ncclSystemError] = "a call of the system failed",
        [ncclInternalError] = "internal error",
        [ncclInvalidArgument] = "invalid argument",
        [ncclInvalidUsage] = "invalid usage",
        [ncclRemoteError] = "another rank is gone or failed",
        [ncclInProgress] = "in progress",
    };
    return (unsigned)result < ncclNumResults ? texts[result] : "unknown result code";
}

/* The version of the header that is implemented completely. */
ncclResult_t ncclGetVersion(int *version)
{
    if (!version) return sc_fail(ncclInvalidArgument, "ncclGetVersion: no place for the version");
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

/* NCCL's own log does not exist, so there is nothing to configure. */
void ncclResetDebugInit(void) {}
