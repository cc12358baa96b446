#include "driver.h"

#include "driver/log.h"
#include "once.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t load_once = PTHREAD_ONCE_INIT;
static pthread_once_t init_once = PTHREAD_ONCE_INIT;
static PFN_cuGetProcAddress_v12000 resolver;
static int driver_version;         /* 0 without a driver */
static struct sc_driver tables[2]; /* indexed by enum sc_default_stream */
static cudaError_t init_status;
static atomic_bool exiting;

static void note_exit(void)
{
    atomic_store(&exiting, true);
}

/* For a version that the driver does not know yet it would answer with its newest form, which has other
 * parameters. */
static void *resolve(const char *name, int version, cuuint64_t flags)
{
    if (version > driver_version) return NULL;
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    void *function = NULL;
    return resolver(name, &function, version, flags, &found) == CUDA_SUCCESS ? function : NULL;
}

/* The name is passed in addition to the field, because cuda.h defines some names as macros (cuMemAlloc is
 * cuMemAlloc_v2), while the driver expects the plain name. Uses memcpy because aliasing rules do not allow a
 * function pointer to be accessed as a void pointer. */
#define FILL(field, name, version, flags)                                                                    \
    do {                                                                                                     \
        void *function = resolve(name, version, flags);                                                      \
        memcpy(&table->field, &function, sizeof function);                                                   \
    } while (0)

static void fill(struct sc_driver *table, bool per_thread)
{
    const cuuint64_t flags =
        per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : CU_GET_PROC_ADDRESS_DEFAULT;
#define DRIVER(name, version) FILL(name, #name, version, CU_GET_PROC_ADDRESS_DEFAULT);
#define DRIVER_STREAM(name, version, ptsz) FILL(name, #name, per_thread ? ptsz : version, flags);
#define DRIVER_OLDER(name, version) FILL(name##_v##version, #name, version, CU_GET_PROC_ADDRESS_DEFAULT);
#define DRIVER_STREAM_OLDER(name, version, ptsz)                                                             \
    FILL(name##_v##version, #name, per_thread ? ptsz : version, flags);
#include "driver.def"
#undef DRIVER
#undef DRIVER_STREAM
#undef DRIVER_OLDER
#undef DRIVER_STREAM_OLDER
}

static int ask_version(void)
{
    PFN_cuDriverGetVersion_v2020 get = NULL;
    CUdriverProcAddressQueryResult found;
    void *function = NULL;
    int version = 0;
    if (resolver("cuDriverGetVersion", &function, 2020, CU_GET_PROC_ADDRESS_DEFAULT, &found) != CUDA_SUCCESS)
        return 0;
    memcpy(&get, &function, sizeof get);
    return get(&version) == CUDA_SUCCESS ? version : 0;
}

static void load(void)
{
    /* Never closed: other threads may execute in it until the process ends. */
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        sc_log("no driver: %s", dlerror());
        return;
    }
    void *found = dlsym(library, "cuGetProcAddress_v2");
    memcpy(&resolver, &found, sizeof resolver);
    if (!resolver) {
        sc_log("libcuda.so.1 has no cuGetProcAddress_v2: the driver is older than 12.0");
        return;
    }
    driver_version = ask_version();
    fill(&tables[SC_LEGACY_STREAM], false);
    fill(&tables[SC_PER_THREAD_STREAM], true);
    /* Registered at this point so that it runs before the exit handlers that the program registered
     * earlier. */
    atexit(note_exit);
}

static void initialise(void)
{
    pthread_once(&load_once, load);
    const struct sc_driver *driver = &tables[SC_LEGACY_STREAM];
    if (!resolver || !driver->cuInit || !driver->cuCtxGetCurrent || !driver->cuCtxSetCurrent) {
        init_status = cudaErrorInsufficientDriver;
        return;
    }
    if (driver_version / 1000 < SC_RUNTIME_VERSION / 1000) {
        sc_log("the driver is of CUDA %d.%d, too old for libcudart.so.%d", driver_version / 1000,
               driver_version % 1000 / 10, SC_RUNTIME_VERSION / 1000);
        init_status = cudaErrorInsufficientDriver;
        return;
    }
    init_status = sc_error_from_driver(driver->cuInit(0));
}

cudaError_t sc_driver_get(enum sc_default_stream kind, const struct sc_driver **out)
{
    pthread_once(&init_once, initialise);
    if (init_status == cudaSuccess) *out = &tables[kind];
    return init_status;
}

PFN_cuGetProcAddress_v12000 sc_driver_resolver(void)
{
    pthread_once(&load_once, load);
    return resolver;
}

int sc_driver_version(void)
{
    pthread_once(&load_once, load);
    return driver_version;
}

bool sc_driver_exiting(void)
{
    return atomic_load(&exiting);
}

cudaError_t sc_driver_missing(const char *name)
{
    sc_log_once(name, "the driver has no %s", name);
    return cudaErrorCallRequiresNewerDriver;
}
