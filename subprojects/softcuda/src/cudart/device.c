/* Devices: their number, properties and limits. */
#include "state.h"

#include <string.h>

struct property {
    size_t offset;
    bool wide; /* a size_t instead of an int */
    CUdevice_attribute attribute;
};

static const struct property properties[] = {
#define PROPERTY(field, name)                                                                                \
    {offsetof(struct cudaDeviceProp, field), sizeof(((struct cudaDeviceProp *)0)->field) == sizeof(size_t),  \
     CU_DEVICE_ATTRIBUTE_##name},
#include "properties.def"
#undef PROPERTY
};

static cudaError_t fill_properties(const struct sc_driver *driver, CUdevice device,
                                   struct cudaDeviceProp *out)
{
    CUuuid uuid = {{0}};
    cudaError_t status = CALL(cuDeviceGetName, out->name, sizeof out->name, device);
    if (status == cudaSuccess) status = CALL(cuDeviceTotalMem, &out->totalGlobalMem, device);
    if (status == cudaSuccess) status = CALL(cuDeviceGetUuid, &uuid, device);
    if (status != cudaSuccess) return status;
    memcpy(&out->uuid, &uuid, sizeof uuid);
    for (size_t i = 0; i < sizeof properties / sizeof properties[0]; i++) {
        int value = 0;
        status = CALL(cuDeviceGetAttribute, &value, properties[i].attribute, device);
        if (status == cudaErrorInvalidValue) continue; /* newer than the driver: stays 0 */
        if (status != cudaSuccess) return status;
        const size_t wide = (size_t)value;
        void *field = (char *)out + properties[i].offset;
        memcpy(field, properties[i].wide ? (const void *)&wide : &value,
               properties[i].wide ? sizeof wide : sizeof value);
    }
    return cudaSuccess;
}

static cudaError_t get_properties(const struct sc_driver *driver, struct cudaDeviceProp *out, int ordinal)
{
    CUdevice device = 0;
    struct cudaDeviceProp got;
    memset(&got, 0, sizeof got);
    cudaError_t status = out ? CALL(cuDeviceGet, &device, ordinal) : cudaErrorInvalidValue;
    if (status == cudaSuccess) status = fill_properties(driver, device, &got);
    if (status == cudaSuccess) *out = got;
    return status;
}

static cudaError_t get_attribute(const struct sc_driver *driver, int *value, enum cudaDeviceAttr attribute,
                                 int ordinal)
{
    CUdevice device = 0;
    const cudaError_t status = value ? CALL(cuDeviceGet, &device, ordinal) : cudaErrorInvalidValue;
    return status == cudaSuccess ? CALL(cuDeviceGetAttribute, value, (CUdevice_attribute)attribute, device)
                                 : status;
}

/* The device with the most multiprocessors among those that fulfil the requirements. */
static cudaError_t choose(const struct sc_driver *driver, int *out, const struct cudaDeviceProp *wanted)
{
    int count = 0, best = 0, best_multiprocessors = -1;
    cudaError_t status = out && wanted ? CALL(cuDeviceGetCount, &count) : cudaErrorInvalidValue;
    for (int i = 0; status == cudaSuccess && i < count; i++) {
        struct cudaDeviceProp got;
        status = get_properties(driver, &got, i);
        if (status != cudaSuccess) break;
        const bool fits = got.totalGlobalMem >= wanted->totalGlobalMem &&
                          got.major * 10 + got.minor >= wanted->major * 10 + wanted->minor;
        if (!fits || got.multiProcessorCount <= best_multiprocessors) continue;
        best = i;
        best_multiprocessors = got.multiProcessorCount;
    }
    if (status == cudaSuccess) *out = best;
    return status;
}

/* Unlike other outputs, the count is set even without a driver: programs check it before the error. */
SC_EXPORT cudaError_t cudaGetDeviceCount(int *count)
{
    if (!count) return sc_finish(cudaErrorInvalidValue);
    *count = 0;
    const struct sc_driver *driver = NULL;
    const cudaError_t status = sc_enter_driver(SC_LEGACY_STREAM, &driver);
    return sc_finish(status == cudaSuccess ? CALL(cuDeviceGetCount, count) : status);
}

SC_DEVICE_API(cudaGetDeviceProperties, (struct cudaDeviceProp * properties_out, int device),
              get_properties(driver, properties_out, device))
SC_DEVICE_API(cudaDeviceGetAttribute, (int *value, enum cudaDeviceAttr attribute, int device),
              get_attribute(driver, value, attribute, device))
SC_DEVICE_API(cudaChooseDevice, (int *device, const struct cudaDeviceProp *wanted),
              choose(driver, device, wanted))
SC_DEVICE_API(cudaDeviceGetByPCIBusId, (int *device, const char *bus),
              CALL(cuDeviceGetByPCIBusId, device, bus))
SC_DEVICE_API(cudaDeviceGetPCIBusId, (char *bus, int bytes, int device),
              CALL(cuDeviceGetPCIBusId, bus, bytes, device))
SC_DEVICE_API(cudaDeviceGetP2PAttribute,
              (int *value, enum cudaDeviceP2PAttr attribute, int source, int destination),
              CALL(cuDeviceGetP2PAttribute, value, (CUdevice_P2PAttribute)attribute, source, destination))
SC_DEVICE_API(cudaDeviceCanAccessPeer, (int *can, int device, int peer),
              CALL(cuDeviceCanAccessPeer, can, device, peer))
SC_DEVICE_API(cudaDeviceGetDefaultMemPool, (cudaMemPool_t * pool, int device),
              CALL(cuDeviceGetDefaultMemPool, pool, device))
SC_DEVICE_API(cudaDeviceGetMemPool, (cudaMemPool_t * pool, int device),
              CALL(cuDeviceGetMemPool, pool, device))
SC_DEVICE_API(cudaDeviceSetMemPool, (int device, cudaMemPool_t pool), CALL(cuDeviceSetMemPool, device, pool))
SC_API(cudaDeviceGetLimit, (size_t * value, enum cudaLimit limit), CALL(cuCtxGetLimit, value, (CUlimit)limit))
SC_API(cudaDeviceSetLimit, (enum cudaLimit limit, size_t value), CALL(cuCtxSetLimit, (CUlimit)limit, value))
SC_API(cudaDeviceGetCacheConfig, (enum cudaFuncCache * cache),
       CALL(cuCtxGetCacheConfig, (CUfunc_cache *)cache))
SC_API(cudaDeviceSetCacheConfig, (enum cudaFuncCache cache), CALL(cuCtxSetCacheConfig, (CUfunc_cache)cache))
SC_API(cudaDeviceGetStreamPriorityRange, (int *least, int *greatest),
       CALL(cuCtxGetStreamPriorityRange, least, greatest))
SC_DEVICE_API(cudaDeviceGraphMemTrim, (int device), CALL(cuDeviceGraphMemTrim, device))
SC_DEVICE_API(cudaDeviceGetGraphMemAttribute,
              (int device, enum cudaGraphMemAttributeType attribute, void *value),
              CALL(cuDeviceGetGraphMemAttribute, device, (CUgraphMem_attribute)attribute, value))
SC_DEVICE_API(cudaDeviceSetGraphMemAttribute,
              (int device, enum cudaGraphMemAttributeType attribute, void *value),
              CALL(cuDeviceSetGraphMemAttribute, device, (CUgraphMem_attribute)attribute, value))
SC_API(cudaCtxResetPersistingL2Cache, (void), CALL(cuCtxResetPersistingL2Cache))

/* Versions are returned without initialising anything. */
SC_EXPORT cudaError_t cudaDriverGetVersion(int *version)
{
    if (!version) return sc_finish(cudaErrorInvalidValue);
    *version = sc_driver_version();
    return cudaSuccess;
}

SC_EXPORT cudaError_t cudaRuntimeGetVersion(int *version)
{
    if (!version) return sc_finish(cudaErrorInvalidValue);
    *version = SC_RUNTIME_VERSION;
    return cudaSuccess;
}
