#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "driver.h"
#include "extent.h"
#include "image.h"

/* Attributes that depend on the options are in attribute_value(); the others are rows of
 * device_attributes.def. */
static const struct {
    CUdevice_attribute attribute;
    int value;
} constants[] = {
#define SC_ATTRIBUTE(name, value) {CU_DEVICE_ATTRIBUTE_##name, value},
#include "attributes.def"
#undef SC_ATTRIBUTE
};

#define BUS_BITS 5120
#define BUS(device) SC_BUS((device)->physical)

static CUresult enter_device(CUdevice device)
{
    CUresult result = sc_enter_query(SC_NEED_INIT);
    if (result) return result;
    return sc_device_at(device) ? CUDA_SUCCESS : sc_leave(CUDA_ERROR_INVALID_DEVICE);
}

static CUresult attribute_value(const struct sc_device *device, CUdevice_attribute attribute, int *value)
{
    const struct sc_options *o = sc_options();
    int version = (int)(o->capability * 10 + 0.5);
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID:
        *value = (int)o->numa_nodes - 1;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = version / 10;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *value = version % 10;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
        *value = BUS(device);
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: /* in kHz; two transfers of the bus in each cycle */
        *value = (int)(o->device_gbps * 1e6 / (2 * BUS_BITS / 8));
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
        *value = BUS_BITS;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = (int)o->processors;
        return CUDA_SUCCESS;
    default:
        break;
    }
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        if (constants[i].attribute != attribute) continue;
        *value = constants[i].value;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = enter_device(ordinal);
    if (result) return result;
    *device = ordinal;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter_query(SC_NEED_INIT);
    if (result) return result;
    *count = sc_device_count();
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetName(char *name, int bytes, CUdevice device)
{
    if (!name || bytes <= 0) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = enter_device(device);
    if (result) return result;
    snprintf(name, (size_t)bytes, "softcuda %s%s", sc_options()->profile,
             sc_options()->sampled ? ", executed in part" : "");
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    if (!uuid) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = enter_device(device);
    if (result) return result;
    sc_device_uuid(sc_device_at(device)->physical, uuid->bytes);
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    return cuDeviceGetUuid_v2(uuid, device);
}

CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = enter_device(device);
    if (result) return result;
    *bytes = sc_options()->memory_bytes;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = enter_device(device);
    if (result) return result;
    return sc_leave(attribute_value(sc_device_at(device), attribute, value));
}

CUresult CUDAAPI cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
    if (!major || !minor) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = cuDeviceGetAttribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    return result ? result
                  : cuDeviceGetAttribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
}

CUresult CUDAAPI cuDeviceGetProperties(CUdevprop *properties, CUdevice device)
{
    if (!properties) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = enter_device(device);
    if (result) return result;
    *properties = (CUdevprop){
        .maxThreadsPerBlock = 1024,
        .maxThreadsDim = {1024, 1024, 64},
        .maxGridSize = {2147483647, 65535, 65535},
        .sharedMemPerBlock = SC_SHARED_BYTES,
        .totalConstantMemory = 65536,
        .SIMDWidth = 32,
        .memPitch = 2147483647,
        .regsPerBlock = 65536,
        .clockRate = 1755000,
        .textureAlign = 512,
    };
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char *id, int bytes, CUdevice device)
{
    if (!id || bytes <= 0) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = enter_device(device);
    if (result) return result;
    snprintf(id, (size_t)bytes, "0000:%02x:00.0", BUS(sc_device_at(device)));
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetByPCIBusId(CUdevice *device, const char *id)
{
    if (!device || !id) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    static const char *const forms[] = {"0000:%02x:00.0", "00:%02x:00.0", "%02x:00.0"};
    for (int i = 0; i < sc_device_count(); i++)
        for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
            char text[16];
            snprintf(text, sizeof text, forms[form], BUS(sc_device_at(i)));
            if (strcasecmp(id, text)) continue;
            *device = i;
            return sc_leave(CUDA_SUCCESS);
        }
    return sc_leave(CUDA_ERROR_INVALID_DEVICE);
}

CUresult CUDAAPI cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    if (!can) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = enter_device(device);
    if (result) return result;
    if (!sc_device_at(peer)) return sc_leave(CUDA_ERROR_INVALID_DEVICE);
    *can = sc_device_reaches(sc_device_at(device), sc_device_at(peer));
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetExecAffinitySupport(int *supported, CUexecAffinityType type, CUdevice device)
{
    (void)type;
    if (!supported) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = enter_device(device);
    if (result) return result;
    *supported = 0;
    return sc_leave(CUDA_SUCCESS);
}

/* Marks for a profiler: there is none, so they do nothing. */
CUresult CUDAAPI cuProfilerStart(void)
{
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    return result ? result : sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuProfilerStop(void)
{
    return cuProfilerStart();
}
