/* cuGetProcAddress: the driver's own look-up, by which the CUDA runtime finds every function. The real one
 * answers; if we have an entry for the function that it returned, the program gets the entry. So the driver
 * decides about versions and stream variants. */
#include "driver.h"

static void substitute(CUresult result, void **function)
{
    if (result != CUDA_SUCCESS || !function || !*function || !sl_driver_load(NULL)) return;
    void *entry = sl_driver_entry_for(*function);
    if (entry) *function = entry;
}

CUresult sl_hook_cuGetProcAddress(struct sl_call call, sl_fn_cuGetProcAddress *real, const char *name,
                                  void **function, int version, cuuint64_t flags)
{
    (void)call;
    CUresult result = real(name, function, version, flags);
    substitute(result, function);
    return result;
}

CUresult sl_hook_cuGetProcAddress_v2(struct sl_call call, sl_fn_cuGetProcAddress_v2 *real, const char *name,
                                     void **function, int version, cuuint64_t flags,
                                     CUdriverProcAddressQueryResult *status)
{
    (void)call;
    if (status) *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND; /* the driver may fail without a reason */
    CUresult result = real(name, function, version, flags, status);
    substitute(result, function);
    return result;
}
