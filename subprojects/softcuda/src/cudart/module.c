#include "module.h"

#include "address_map.h"
#include "driver/log.h"
#include "once.h"
#include "registration.h"
#include "state.h"

#include <pthread.h>
#include <stdlib.h>

enum entry_kind { ENTRY_KERNEL, ENTRY_VARIABLE, ENTRY_MANAGED };

/* One registered kernel or variable. */
struct entry {
    enum entry_kind kind;
    struct module *module;
    const char *name;   /* static in the program */
    const void *host;   /* the key; for ENTRY_MANAGED the address of the pointer variable through which the
                           program reads */
    CUkernel kernel;    /* NULL before the first lookup */
    struct entry *next; /* of the same module */
};

struct module {
    const void *image;
    CUlibrary library;      /* NULL until loaded */
    cudaError_t load_error; /* the error of loading, unless another attempt may succeed */
    bool managed_ready;
    struct entry *entries;
    struct module *next;
};

/* Guards all of this state. Held while a fat binary loads, so that a second thread that needs it waits. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct module *modules;
static struct sc_address_map by_host;

static cudaError_t load(const struct sc_driver *driver, struct module *module)
{
    if (module->library) return cudaSuccess;
    if (module->load_error != cudaSuccess) return module->load_error;
    CUlibrary library = NULL;
    const cudaError_t status = CALL(cuLibraryLoadData, &library, module->image, NULL, NULL, 0, NULL, NULL, 0);
    if (status == cudaSuccess) {
        module->library = library;
        return cudaSuccess;
    }
    sc_log("a fat binary of the program does not load: %s (%s)", cudaGetErrorName(status),
           cudaGetErrorString(status));
    if (status != cudaErrorMemoryAllocation) module->load_error = status;
    return status;
}

/* A __managed__ variable is a pointer in the program, which is invalid until this function has run. */
static cudaError_t set_up_managed(const struct sc_driver *driver, struct module *module)
{
    if (module->managed_ready) return cudaSuccess;
    for (struct entry *entry = module->entries; entry; entry = entry->next) {
        if (entry->kind != ENTRY_MANAGED) continue;
        CUdeviceptr address = 0;
        size_t bytes = 0;
        const cudaError_t status = CALL(cuLibraryGetManaged, &address, &bytes, module->library, entry->name);
        if (status != cudaSuccess) {
            sc_log("no managed variable %s: %s", entry->name, cudaGetErrorName(status));
            return status;
        }
        *(CUdeviceptr *)entry->host = address;
    }
    module->managed_ready = true;
    return cudaSuccess;
}

static cudaError_t prepare(const struct sc_driver *driver, struct module *module)
{
    const cudaError_t status = load(driver, module);
    return status == cudaSuccess ? set_up_managed(driver, module) : status;
}

static cudaError_t kernel_of(const struct sc_driver *driver, struct entry *entry, CUkernel *out)
{
    if (!entry->kernel) {
        cudaError_t status = prepare(driver, entry->module);
        if (status != cudaSuccess) return status;
        CUkernel kernel = NULL;
        status = CALL(cuLibraryGetKernel, &kernel, entry->module->library, entry->name);
        if (status != cudaSuccess) {
            sc_log_once(entry->name, "no kernel %s: %s", entry->name, cudaGetErrorName(status));
            return status == cudaErrorSymbolNotFound ? cudaErrorInvalidDeviceFunction : status;
        }
        entry->kernel = kernel;
    }
    /* After a reset the kernel is still known, but the managed variables that it reads are not allocated. */
    const cudaError_t status = set_up_managed(driver, entry->module);
    if (status == cudaSuccess) *out = entry->kernel;
    return status;
}

/* A kernel handle that the program got from the driver or from cudaGetKernel is passed through if the driver
 * knows it. */
static cudaError_t kernel_handle(const struct sc_driver *driver, const void *handle, CUkernel *out)
{
    CUfunction function = NULL;
    if (CALL(cuKernelGetFunction, &function, (CUkernel)handle) != cudaSuccess)
        return cudaErrorInvalidDeviceFunction;
    *out = (CUkernel)handle;
    return cudaSuccess;
}

cudaError_t sc_kernel_find(const struct sc_driver *driver, const void *function, CUkernel *out)
{
    if (!function) return cudaErrorInvalidDeviceFunction;
    pthread_mutex_lock(&lock);
    struct entry *entry = sc_address_map_get(&by_host, function);
    cudaError_t status = cudaErrorInvalidDeviceFunction;
    if (entry && entry->kind == ENTRY_KERNEL) status = kernel_of(driver, entry, out);
    pthread_mutex_unlock(&lock);
    return entry ? status : kernel_handle(driver, function, out);
}

const void *sc_kernel_symbol(CUkernel kernel)
{
    const void *symbol = kernel;
    pthread_mutex_lock(&lock);
    for (struct module *module = modules; module; module = module->next)
        for (struct entry *entry = module->entries; entry; entry = entry->next)
            if (entry->kind == ENTRY_KERNEL && entry->kernel == kernel) symbol = entry->host;
    pthread_mutex_unlock(&lock);
    return symbol;
}

static cudaError_t variable_of(const struct sc_driver *driver, struct entry *entry, CUdeviceptr *address,
                               size_t *bytes)
{
    const cudaError_t status = prepare(driver, entry->module);
    if (status != cudaSuccess) return status;
    if (entry->kind == ENTRY_MANAGED)
        return CALL(cuLibraryGetManaged, address, bytes, entry->module->library, entry->name);
    return CALL(cuLibraryGetGlobal, address, bytes, entry->module->library, entry->name);
}

/* nvcc replaces the name of a managed variable by its pointer's target, which is thus the variable's
 * symbol. */
static struct entry *managed_entry(const void *symbol)
{
    for (struct module *module = modules; module; module = module->next)
        for (struct entry *entry = module->entries; entry && module->managed_ready; entry = entry->next)
            if (entry->kind == ENTRY_MANAGED && *(const void *const *)entry->host == symbol) return entry;
    return NULL;
}

cudaError_t sc_symbol_find(const struct sc_driver *driver, const void *symbol, CUdeviceptr *address,
                           size_t *bytes)
{
    pthread_mutex_lock(&lock);
    struct entry *entry = symbol ? sc_address_map_get(&by_host, symbol) : NULL;
    if (!entry && symbol) entry = managed_entry(symbol);
    cudaError_t status = cudaErrorInvalidSymbol;
    if (entry && (entry->kind == ENTRY_VARIABLE || entry->kind == ENTRY_MANAGED))
        status = variable_of(driver, entry, address, bytes);
    pthread_mutex_unlock(&lock);
    return status == cudaErrorSymbolNotFound ? cudaErrorInvalidSymbol : status;
}

void sc_modules_forget_managed(void)
{
    pthread_mutex_lock(&lock);
    for (struct module *module = modules; module; module = module->next) module->managed_ready = false;
    pthread_mutex_unlock(&lock);
}

/* Failures cannot be reported here: the program gets an error when it uses the unregistered object. */
static void add(struct module *module, enum entry_kind kind, const char *name, const void *host)
{
    if (!module) return;
    pthread_mutex_lock(&lock);
    struct entry *entry = calloc(1, sizeof *entry);
    if (entry) *entry = (struct entry){.kind = kind, .module = module, .name = name, .host = host};
    if (entry && sc_address_map_put(&by_host, host, entry)) {
        entry->next = module->entries;
        module->entries = entry;
    } else {
        free(entry);
        sc_log("no memory to register %s", name);
    }
    pthread_mutex_unlock(&lock);
}

void **__cudaRegisterFatBinary(void *image)
{
    struct module *module = calloc(1, sizeof *module);
    if (!module) {
        sc_log("no memory to register a fat binary");
        return NULL;
    }
    module->image = image;
    pthread_mutex_lock(&lock);
    module->next = modules;
    modules = module;
    pthread_mutex_unlock(&lock);
    return (void **)module;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle; /* fat binaries are loaded at first use */
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int thread_limit,
                            uint3 *thread, uint3 *block, dim3 *block_size, dim3 *grid_size, int *warp_size)
{
    (void)device, (void)thread_limit, (void)thread, (void)block, (void)block_size, (void)grid_size,
        (void)warp_size;
    add((struct module *)handle, ENTRY_KERNEL, name, host);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes,
                       int constant, int global)
{
    (void)device, (void)external, (void)bytes, (void)constant, (void)global;
    add((struct module *)handle, ENTRY_VARIABLE, name, host);
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external,
                              size_t bytes, int constant, int global)
{
    (void)device, (void)external, (void)bytes, (void)constant, (void)global;
    add((struct module *)handle, ENTRY_MANAGED, name, host);
}

char __cudaInitModule(void **handle)
{
    struct module *module = (struct module *)handle;
    const struct sc_driver *driver = NULL;
    cudaError_t status = sc_enter(SC_LEGACY_STREAM, &driver);
    if (status == cudaSuccess && module) {
        pthread_mutex_lock(&lock);
        status = prepare(driver, module);
        pthread_mutex_unlock(&lock);
    }
    return sc_finish(status) == cudaSuccess;
}

static void unload(struct module *module)
{
    const struct sc_driver *driver = NULL;
    /* At exit the driver has freed everything, or is about to. */
    if (!module->library || sc_driver_exiting() || sc_driver_get(SC_LEGACY_STREAM, &driver) != cudaSuccess)
        return;
    CALL(cuLibraryUnload, module->library);
}

void __cudaUnregisterFatBinary(void **handle)
{
    struct module *module = (struct module *)handle;
    if (!module) return;
    pthread_mutex_lock(&lock);
    struct module **link = &modules;
    while (*link && *link != module) link = &(*link)->next;
    if (*link) *link = module->next;
    while (module->entries) {
        struct entry *entry = module->entries;
        module->entries = entry->next;
        sc_address_map_remove(&by_host, entry->host);
        free(entry);
    }
    pthread_mutex_unlock(&lock);
    unload(module);
    free(module);
}

cudaError_t __cudaGetKernel(cudaKernel_t *out, const void *function)
{
    /* The launch code calls this once, in a static initialiser, perhaps before there is a driver. So it
     * returns the host address, which every launch looks up. */
    *out = (cudaKernel_t)function;
    return cudaSuccess;
}
