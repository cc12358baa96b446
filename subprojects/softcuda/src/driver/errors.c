#include <stddef.h>

#include "api.h"

static const struct {
    CUresult value;
    const char *name, *text;
} errors[] = {
#define SC_ERROR(name, text) {name, #name, text},
#include "errors.def"
#undef SC_ERROR
};

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **out)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].value == error) *out = errors[i].name;
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **out)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].value == error) *out = errors[i].text;
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
