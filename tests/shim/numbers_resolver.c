/* The look-up of the driver of numbers.h.
 *   NUMBERS_VERSION   the driver's version, 13000 without it
 *   NUMBERS_SECOND    set: look-ups return other addresses than the symbols have
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"

#include "numbers_functions.h"

#define VISIBLE __attribute__((visibility("default")))

struct row {
    const char *symbol, *name;
    int version;
    bool per_thread;
    void *second;
};

static const struct row rows[] = {
#define SL_ROW0(symbol, name, version) {#symbol, name, version, false, (void *)second_##symbol},
#define SL_ROW(symbol, name, version, declarations, arguments) SL_ROW0(symbol, name, version)
#define SL_PAIR(symbol, suffix, name, version, thread_version, declarations, arguments)                      \
    SL_ROW0(symbol, name, version){#symbol "_" #suffix, name, thread_version, true,                          \
                                   (void *)second_##symbol##_##suffix},
#include "driver_api.def"
#undef SL_ROW0
#undef SL_ROW
#undef SL_PAIR
};

VISIBLE CUresult numbers_get_version(int *version) __asm__("cuDriverGetVersion");
VISIBLE CUresult numbers_init(unsigned flags) __asm__("cuInit");
VISIBLE CUresult numbers_old_alloc(unsigned *address, unsigned bytes) __asm__("cuMemAlloc");
VISIBLE sl_fn_cuGetProcAddress numbers_resolver __asm__("cuGetProcAddress");
VISIBLE sl_fn_cuGetProcAddress_v2 numbers_resolver_v2 __asm__("cuGetProcAddress_v2");
VISIBLE void *numbers_own_lookup(void);
VISIBLE int numbers_initialisations(void);
VISIBLE void numbers_requests(int *through_shim, int *direct);

static _Atomic int requests_through_shim, requests_direct, initialisations;

CUresult numbers_get_version(int *version)
{
    const char *given = getenv("NUMBERS_VERSION");
    *version = given ? atoi(given) : 13000;
    return CUDA_SUCCESS;
}

CUresult numbers_init(unsigned flags)
{
    (void)flags;
    initialisations++;
    return CUDA_ERROR_NO_DEVICE;
}

CUresult numbers_old_alloc(unsigned *address, unsigned bytes)
{
    (void)address, (void)bytes;
    return (CUresult)NUMBERS_OLD_ALLOC;
}

/* What the driver itself gets from a look-up of its own function, and from calling it by name. */
void *numbers_own_lookup(void)
{
    void *self = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), *function = dlsym(self, "cuMemFree_v2");
    dlclose(self);
    return function;
}

static void *address_of(const struct row *row)
{
    if (!strcmp(row->symbol, "cuGetProcAddress")) return (void *)numbers_resolver;
    if (!strcmp(row->symbol, "cuGetProcAddress_v2")) return (void *)numbers_resolver_v2;
    if (getenv("NUMBERS_SECOND")) return row->second;
    void *self = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), *function = dlsym(self, row->symbol);
    dlclose(self);
    return function;
}

/* The newest function of that name that is no newer than asked for, nor than the driver. */
static void *resolve(const char *name, int version, bool per_thread)
{
    const struct row *best = NULL;
    int own;
    numbers_get_version(&own);
    if (!strcmp(name, "cuInit")) return (void *)numbers_init;
    if (!strcmp(name, "cuMemAlloc") && version < 3020) return (void *)numbers_old_alloc;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        if (strcmp(row->name, name) || row->version > version || row->version > own) continue;
        if (row->per_thread && !per_thread) continue;
        bool better =
            !best || row->version > best->version || (row->version == best->version && row->per_thread);
        if (per_thread && best && best->per_thread && !row->per_thread) better = false;
        if (better) best = row;
    }
    return best ? address_of(best) : NULL;
}

CUresult numbers_resolver(const char *name, void **function, int version, cuuint64_t flags)
{
    *function = resolve(name, version, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

int numbers_initialisations(void)
{
    return initialisations;
}

void numbers_requests(int *through_shim, int *direct)
{
    *through_shim = requests_through_shim;
    *direct = requests_direct;
}

/* For "cuSilent" it fails as a driver might that stops before it looks. */
CUresult numbers_resolver_v2(const char *name, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status)
{
    Dl_info caller;
    bool from_shim = dladdr(__builtin_return_address(0), &caller) && strstr(caller.dli_fname, "libsluice.so");
    if (from_shim)
        requests_through_shim++;
    else
        requests_direct++;
    if (!strcmp(name, "cuSilent")) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = numbers_resolver(name, function, version, flags);
    if (status)
        *status = result == CUDA_SUCCESS ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return result;
}
