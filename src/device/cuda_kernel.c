#include "device/cuda_kernel.h"

#include <stdio.h>

#include "base/log.h"
#include "device/kernel_handles.h"

static uint64_t module_of(const struct sl_cuda_driver *driver, uint64_t function, enum sl_handle_kind kind)
{
    CUfunction plain = (CUfunction)function;
    CUmodule module;
    if (kind == SL_HANDLE_KERNEL && (!driver->kernel_get_function ||
                                     driver->kernel_get_function(&plain, (CUkernel)function) != CUDA_SUCCESS))
        return 0;
    if (!driver->func_get_module || driver->func_get_module(&module, plain) != CUDA_SUCCESS) return 0;
    return (uintptr_t)module;
}

static CUresult ask_for_name(const struct sl_cuda_driver *driver, uint64_t function, enum sl_handle_kind kind,
                             const char **name)
{
    return kind == SL_HANDLE_KERNEL ? driver->kernel_get_name(name, (CUkernel)function)
                                    : driver->func_get_name(name, (CUfunction)function);
}

static CUresult ask_for_parameter(const struct sl_cuda_driver *driver, uint64_t function,
                                  enum sl_handle_kind kind, uint32_t index, size_t *offset, size_t *bytes)
{
    return kind == SL_HANDLE_KERNEL ? driver->kernel_get_param_info((CUkernel)function, index, offset, bytes)
                                    : driver->func_get_param_info((CUfunction)function, index, offset, bytes);
}

static bool says_parameters(const struct sl_cuda_driver *driver)
{
    return driver->func_get_param_info && driver->kernel_get_param_info && driver->func_get_name &&
           driver->kernel_get_name;
}

static enum sl_status ask_for_layout(const struct sl_cuda_driver *driver, uint64_t function,
                                     struct sl_kernel_layout *out)
{
    enum sl_handle_kind kind = sl_handle_kind(function);
    const char *name = NULL;
    if (kind == SL_HANDLE_UNKNOWN) {
        sl_log(SL_LOG_INFO, "a kernel is launched whose handle came from a call that is not followed");
        return SL_ERR_UNSUPPORTED;
    }
    if (ask_for_name(driver, function, kind, &name) != CUDA_SUCCESS || !name) return SL_ERR_UNSUPPORTED;
    snprintf(out->name, sizeof out->name, "%s", name);
    for (out->parameter_count = 0; out->parameter_count < SL_MAX_PARAMETERS; out->parameter_count++) {
        size_t offset, bytes;
        uint32_t p = out->parameter_count;
        CUresult result = ask_for_parameter(driver, function, kind, p, &offset, &bytes);
        if (result == CUDA_ERROR_INVALID_VALUE) break; /* the driver gives no count: this is the end */
        if (result != CUDA_SUCCESS) return SL_ERR_UNSUPPORTED;
        out->offsets[p] = (uint32_t)offset;
        out->sizes[p] = (uint32_t)bytes;
    }
    out->module = module_of(driver, function, kind);
    return SL_OK;
}

enum sl_status sl_cuda_kernel_layout(const struct sl_cuda_driver *driver, uint64_t function,
                                     struct sl_kernel_layout *out)
{
    if (!says_parameters(driver)) {
        sl_warn_once("the driver is older than CUDA 12.4 and does not say kernels' parameters: what kernels "
                     "use stays in host memory, which is slow");
        return SL_ERR_UNSUPPORTED;
    }
    enum sl_status status = ask_for_layout(driver, function, out);
    if (status)
        sl_warn_once("the driver does not say a kernel's parameters (%s); what it uses stays in host memory",
                     sl_status_text(status));
    return status;
}
