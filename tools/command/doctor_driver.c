#include "tools/command/doctor.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cuda.h>

#include "base/text.h"

enum {
    VERSION_OLDEST = 12020,     /* as SL_OLDEST_DRIVER */
    VERSION_PARAMETERS = 12040, /* cuFuncGetParamInfo */
    VERSION_DISCARD = 13000,    /* cuMemDiscardBatchAsync */
};

#define VERSION(version) (version) / 1000, (version) % 1000 / 10
#define TOO_OLD "the driver is of CUDA %d.%d; sluice needs CUDA %d.%d or newer (driver 535)"

/* The required functions, found by name: this command does not link with the driver. */
static struct {
    CUresult (*init)(unsigned);
    CUresult (*version)(int *);
    CUresult (*device_count)(int *);
    CUresult (*device)(CUdevice *, int);
    CUresult (*device_name)(char *, int, CUdevice);
    CUresult (*device_memory)(size_t *, CUdevice);
    CUresult (*device_attribute)(int *, CUdevice_attribute, CUdevice);
    CUresult (*error_string)(CUresult, const char **);
} cu;

static const struct {
    const char *name;
    void *to;
} functions[] = {
    {"cuInit", &cu.init},
    {"cuDriverGetVersion", &cu.version},
    {"cuDeviceGetCount", &cu.device_count},
    {"cuDeviceGet", &cu.device},
    {"cuDeviceGetName", &cu.device_name},
    {"cuDeviceTotalMem_v2", &cu.device_memory},
    {"cuDeviceGetAttribute", &cu.device_attribute},
    {"cuGetErrorString", &cu.error_string},
};

static const char *error_text(CUresult error)
{
    const char *text = NULL;
    return cu.error_string(error, &text) == CUDA_SUCCESS && text ? text : "unknown error";
}

static bool is_container(void)
{
    return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0;
}

static void say_no_driver(struct findings *findings, const char *path, const char *error)
{
    if (!strstr(error, "No such file"))
        find(findings, VERDICT_BROKEN, "driver", "the CUDA driver cannot be loaded: %s", error);
    else if (is_container())
        find(findings, VERDICT_BROKEN, "driver",
             "this container has no CUDA driver (%s): start it with access to a GPU (docker run --gpus all); "
             "sluice run --software needs none",
             path);
    else
        find(findings, VERDICT_BROKEN, "driver",
             "there is no CUDA driver (%s): install NVIDIA's; sluice run --software needs none", path);
}

static const char *file_of(void *driver, const char *otherwise)
{
    struct link_map *map = NULL;
    return dlinfo(driver, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name ? map->l_name : otherwise;
}

/* A library that lacks functions which every driver has. */
static void say_incomplete(struct findings *findings, void *driver, const char *path)
{
    int version = 0;
    if (cu.version && cu.version(&version) == CUDA_SUCCESS && version < VERSION_OLDEST)
        find(findings, VERDICT_BROKEN, "driver", TOO_OLD, VERSION(version), VERSION(VERSION_OLDEST));
    else
        find(findings, VERDICT_BROKEN, "driver", "%s is no CUDA driver", file_of(driver, path));
}

static void *open_driver(struct findings *findings, const char *path)
{
    void *driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    bool complete = driver != NULL;
    if (!driver) say_no_driver(findings, path, dlerror());
    for (size_t i = 0; driver && i < sizeof(functions) / sizeof(*functions); i++) {
        void *function = dlsym(driver, functions[i].name);
        complete &= function != NULL;
        *(void **)functions[i].to = function;
    }
    if (driver && !complete) say_incomplete(findings, driver, path);
    return complete ? driver : NULL;
}

static void examine_features(struct findings *findings, void *driver, int version)
{
    bool parameters = version >= VERSION_PARAMETERS && dlsym(driver, "cuFuncGetParamInfo");
    bool discard = version >= VERSION_DISCARD && dlsym(driver, "cuMemDiscardBatchAsync");
    if (parameters)
        find(findings, VERDICT_OK, "kernel arguments", "the driver reports their layout");
    else
        find(findings, VERDICT_BROKEN, "kernel arguments",
             "the driver cannot report their layout: it must be of CUDA 12.4 or newer (driver 550)");
    if (discard)
        find(findings, VERDICT_OK, "discard", "freed memory is discarded without a copy");
    else
        find(findings, VERDICT_NOTE, "discard",
             "needs a driver of CUDA 13.0 or newer (580): freed memory is copied like other memory");
}

/* Whether the name ends with a vGPU profile: "NVIDIA A100-40C", "GRID T4-16Q". */
static bool is_virtual(const char *name)
{
    const char *profile = strrchr(name, '-');
    size_t digits = profile ? strspn(profile + 1, "0123456789") : 0;
    return digits && strchr("ABCQ", profile[1 + digits]) && profile[1 + digits] && !profile[2 + digits];
}

static void examine_device(struct findings *findings, int index)
{
    CUdevice device;
    char subject[32], name[128] = "", memory[SL_BYTES_TEXT];
    size_t bytes = 0;
    int concurrent = 0;
    snprintf(subject, sizeof(subject), "device %d", index);
    CUresult error = cu.device(&device, index);
    if (!error) error = cu.device_name(name, sizeof(name), device);
    if (!error) error = cu.device_memory(&bytes, device);
    if (!error)
        error = cu.device_attribute(&concurrent, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, device);
    if (error) {
        find(findings, VERDICT_BROKEN, subject, "cannot be examined: %s", error_text(error));
        return;
    }
    find(findings, VERDICT_OK, subject, "%s, %s", name, sl_bytes_text(bytes, memory));
    snprintf(subject, sizeof(subject), "unified memory %d", index);
    if (concurrent)
        find(findings, VERDICT_OK, subject, "concurrent access by device and host");
    else if (is_virtual(name))
        find(findings, VERDICT_BROKEN, subject,
             "this vGPU has no unified memory: the host must enable it (enable_uvm=1, with a profile of a "
             "whole "
             "GPU)");
    else
        find(findings, VERDICT_BROKEN, subject, "no concurrent managed access (as on Windows and in WSL)");
}

void examine_driver(struct findings *findings, const char *path)
{
    void *driver = open_driver(findings, path);
    if (!driver) return;
    int version = 0, count = 0;
    CUresult error = cu.init(0);
    if (!error) error = cu.version(&version);
    if (!error) error = cu.device_count(&count);
    if (error) {
        find(findings, VERDICT_BROKEN, "driver", "%s cannot be initialized: %s", file_of(driver, path),
             error_text(error));
        return;
    }
    if (version < VERSION_OLDEST)
        find(findings, VERDICT_BROKEN, "driver", TOO_OLD, VERSION(version), VERSION(VERSION_OLDEST));
    else
        find(findings, VERDICT_OK, "driver", "CUDA %d.%d, %s", VERSION(version), file_of(driver, path));
    examine_features(findings, driver, version);
    if (!count) find(findings, VERDICT_BROKEN, "devices", "the driver finds none");
    for (int i = 0; i < count; i++) examine_device(findings, i);
}
