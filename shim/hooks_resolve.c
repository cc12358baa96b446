/* cuGetProcAddress: the driver's own look-up, and the way of the CUDA runtime to every function. The real one
 * answers; where we have an entry for the very function it returned, the program gets the entry. So versions
 * and stream variants are the driver's decision.
 */
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
    if (status)
        *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND; /* where the driver fails without saying why */
    CUresult result = real(name, function, version, flags, status);
    substitute(result, function);
    return result;
}
