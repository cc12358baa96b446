/* Preloaded in front of the shim: sees what every look-up of a driver function is answered with, by dlsym and
 * by cuGetProcAddress. A function of the shim's table that is handed out as the driver's own has slipped
 * past. */
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "driver_api.h"

#define SHOWN __attribute__((visibility("default")))

typedef void *lookup_fn(void *handle, const char *name);

SHOWN void observer_counts(int *ours, int *slipped, const char **first_slipped);

static _Atomic int count_ours, count_slipped;
static char first_name[64];
static sl_fn_cuGetProcAddress_v2 *shims_resolver;
static sl_fn_cuGetProcAddress *shims_old_resolver;

static const char *const table[] = {
#define SL_ROW0(symbol, name, version) #symbol,
#define SL_ROW(symbol, name, version, declarations, arguments) #symbol,
#define SL_PAIR(symbol, suffix, name, version, thread_version, declarations, arguments)                      \
#symbol, #symbol "_" #suffix,
#include "driver_api.def"
#undef SL_ROW0
#undef SL_ROW
#undef SL_PAIR
};

static void note(const void *function)
{
    Dl_info info;
    if (!function || !dladdr(function, &info)) return;
    if (strstr(info.dli_fname, "libsluice")) {
        count_ours++;
        return;
    }
    for (size_t i = 0; i < sizeof table / sizeof *table && info.dli_sname; i++)
        if (strstr(info.dli_fname, "libcuda.so") && !strcmp(table[i], info.dli_sname) && !count_slipped++)
            strncpy(first_name, info.dli_sname, sizeof first_name - 1);
}

static CUresult observed_resolver(const char *name, void **function, int version, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *status)
{
    CUresult result = shims_resolver(name, function, version, flags, status);
    if (result != CUDA_SUCCESS || !function) return result;
    note(*function);
    if (*function == (void *)shims_resolver) *function = (void *)observed_resolver;
    return result;
}

static CUresult observed_old_resolver(const char *name, void **function, int version, cuuint64_t flags)
{
    CUresult result = shims_old_resolver(name, function, version, flags);
    if (result == CUDA_SUCCESS && function) note(*function);
    return result;
}

static void *look_up_driver_name(lookup_fn *next, void *handle, const char *name)
{
    void *function = next(handle, name);
    note(function);
    if (function && !strcmp(name, "cuGetProcAddress_v2")) {
        shims_resolver = (sl_fn_cuGetProcAddress_v2 *)function;
        return (void *)observed_resolver;
    }
    if (function && !strcmp(name, "cuGetProcAddress")) {
        shims_old_resolver = (sl_fn_cuGetProcAddress *)function;
        return (void *)observed_old_resolver;
    }
    return function;
}

static lookup_fn *next_lookup(void)
{
    static lookup_fn *next;
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    for (int i = 0; i < 3 && !next; i++) next = (lookup_fn *)dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    return next;
}

static bool is_the_driver(const void *caller)
{
    Dl_info info;
    return dladdr(caller, &info) && strstr(info.dli_fname, "libcuda.so");
}

/* Everything else is passed on by a jump, so that its caller stays who it is. */
SHOWN void *dlsym(void *restrict handle, const char *restrict name)
{
    if (is_the_driver(__builtin_return_address(0))) return next_lookup()(handle, name);
    if (name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z')
        return look_up_driver_name(next_lookup(), handle, name);
    return next_lookup()(handle, name);
}

void observer_counts(int *ours, int *slipped, const char **first_slipped)
{
    *ours = count_ours;
    *slipped = count_slipped;
    *first_slipped = first_name;
}
