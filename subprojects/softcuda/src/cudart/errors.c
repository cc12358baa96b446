#include "state.h"

/* If the runtime has an error at all, its code equals the driver's. */
cudaError_t sc_error_from_driver(CUresult result)
{
    switch ((cudaError_t)result) {
#define ERROR(name, text) case name:
#define STICKY(name, text) case name:
#include "errors.def"
#undef ERROR
#undef STICKY
        return (cudaError_t)result;
    default:
        return cudaErrorUnknown;
    }
}

bool sc_error_is_sticky(cudaError_t error)
{
    switch (error) {
#define ERROR(name, text)
#define STICKY(name, text) case name:
#include "errors.def"
#undef ERROR
#undef STICKY
        return true;
    default:
        return false;
    }
}

SC_EXPORT const char *cudaGetErrorName(cudaError_t error)
{
    switch (error) {
#define ERROR(name, text)                                                                                    \
    case name:                                                                                               \
        return #name;
#define STICKY(name, text) ERROR(name, text)
#include "errors.def"
#undef ERROR
#undef STICKY
    default:
        return "unrecognized error code";
    }
}

SC_EXPORT const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
#define ERROR(name, text)                                                                                    \
    case name:                                                                                               \
        return text;
#define STICKY(name, text) ERROR(name, text)
#include "errors.def"
#undef ERROR
#undef STICKY
    default:
        return "unrecognized error code";
    }
}

SC_EXPORT cudaError_t cudaGetLastError(void)
{
    struct sc_thread *thread = sc_thread();
    const cudaError_t error = thread->last_error;
    if (!sc_error_is_sticky(error)) thread->last_error = cudaSuccess;
    return error;
}

SC_EXPORT cudaError_t cudaPeekAtLastError(void)
{
    return sc_thread()->last_error;
}
