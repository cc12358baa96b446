/* cuGetProcAddress: the version and the flags decide, and the answer is always complete. */
#include <dlfcn.h>
#include <string.h>

#include "check.h"

static void *ask(const char *name, int version, cuuint64_t flags)
{
    void *function = NULL;
    CUdriverProcAddressQueryResult status = 99;
    OK(cuGetProcAddress(name, &function, version, flags, &status));
    CHECK(function && status == CU_GET_PROC_ADDRESS_SUCCESS);
    return function;
}

static void *symbol(const char *name)
{
    static void *library;
    if (!library) library = dlopen("libcuda.so.1", RTLD_NOW);
    return dlsym(library, name);
}

int main(void)
{
    static const struct {
        const char *name;
        int version;
        cuuint64_t flags;
        const char *symbol;
    } rows[] = {
        {"cuMemAlloc", 3020, CU_GET_PROC_ADDRESS_DEFAULT, "cuMemAlloc_v2"},
        {"cuMemAlloc", 13000, CU_GET_PROC_ADDRESS_DEFAULT, "cuMemAlloc_v2"},
        {"cuMemAlloc", 3010, CU_GET_PROC_ADDRESS_DEFAULT, "cuMemAlloc"},
        {"cuCtxCreate", 11000, CU_GET_PROC_ADDRESS_DEFAULT, "cuCtxCreate_v2"},
        {"cuCtxCreate", 12040, CU_GET_PROC_ADDRESS_DEFAULT, "cuCtxCreate_v3"},
        {"cuCtxCreate", 13000, CU_GET_PROC_ADDRESS_DEFAULT, "cuCtxCreate_v4"},
        {"cuDeviceGetUuid", 9020, CU_GET_PROC_ADDRESS_DEFAULT, "cuDeviceGetUuid"},
        {"cuDeviceGetUuid", 11040, CU_GET_PROC_ADDRESS_DEFAULT, "cuDeviceGetUuid_v2"},
        {"cuDevicePrimaryCtxReset", 7000, CU_GET_PROC_ADDRESS_DEFAULT, "cuDevicePrimaryCtxReset"},
        {"cuCtxSynchronize", 12090, CU_GET_PROC_ADDRESS_DEFAULT, "cuCtxSynchronize"},
        {"cuCtxSynchronize", 13000, CU_GET_PROC_ADDRESS_DEFAULT, "cuCtxSynchronize_v2"},
        {"cuGetProcAddress", 11030, CU_GET_PROC_ADDRESS_DEFAULT, "cuGetProcAddress"},
        {"cuGetProcAddress", 12000, CU_GET_PROC_ADDRESS_DEFAULT, "cuGetProcAddress_v2"},
        {"cuLaunchKernel", 7000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, "cuLaunchKernel"},
        {"cuLaunchKernel", 7000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, "cuLaunchKernel_ptsz"},
        {"cuMemcpyHtoD", 7000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, "cuMemcpyHtoD_v2_ptds"},
        {"cuMemcpyHtoD", 7000, CU_GET_PROC_ADDRESS_DEFAULT, "cuMemcpyHtoD_v2"},
        {"cuStreamGetCaptureInfo", 12030, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
         "cuStreamGetCaptureInfo_v3_ptsz"},
        {"cuStreamGetCaptureInfo", 11030, CU_GET_PROC_ADDRESS_DEFAULT, "cuStreamGetCaptureInfo_v2"},
        /* No per-thread form: the ordinary one. */
        {"cuMemAlloc", 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, "cuMemAlloc_v2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *found = ask(rows[i].name, rows[i].version, rows[i].flags);
        if (found == symbol(rows[i].symbol)) continue;
        fprintf(stderr, "%s in version %d is not %s\n", rows[i].name, rows[i].version, rows[i].symbol);
        return 1;
    }
    void *function = &function;
    CUdriverProcAddressQueryResult status = 99;
    FAILS(cuGetProcAddress("cuNoSuchFunction", &function, 13000, 0, &status), CUDA_ERROR_NOT_FOUND);
    CHECK(status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND && !function);
    FAILS(cuGetProcAddress("cuMemPrefetchBatchAsync", &function, 12000, 0, &status), CUDA_ERROR_NOT_FOUND);
    CHECK(status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT && !function);
    FAILS(cuGetProcAddress(NULL, &function, 13000, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    return 0;
}
