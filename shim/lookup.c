#include "lookup.h"

#include <dlfcn.h>
#include <stddef.h>

#include "driver.h"
#include "elf_symbol.h"
#include "nccl.h"
#include "no_sanitize.h"

#if defined(__x86_64__)
#define BASE_VERSION "GLIBC_2.2.5"
#else
#define BASE_VERSION "GLIBC_2.17"
#endif

typedef void *lookup_fn(void *handle, const char *name);
typedef void *versioned_lookup_fn(void *handle, const char *name, const char *version);

/* dlsym and dlvsym in the base version, then in GLIBC_2.34, where libdl became part of libc. Read by dlsym.S.
 */
enum { BASE_DLSYM, BASE_DLVSYM, NEW_DLSYM, NEW_DLVSYM, LOOKUP_COUNT };
void *sl_next_lookup[LOOKUP_COUNT];

static void *nothing_found(void *handle, const char *name, const char *version)
{
    (void)handle, (void)name, (void)version;
    return NULL;
}

/* Other preloaded objects may replace dlsym as well. The program's look-ups continue to the next one, as
 * without this library; our own go to the C library, which also has the functions that none of them replaces.
 */
#define C_LIBRARY_MARK "dlinfo"
static void *c_library_dlsym, *c_library_dlvsym;

/* A C library has the base version, GLIBC_2.34, or both. A program that binds a version that the library
 * lacks cannot have been loaded, so the existing version then serves references without a version. */
SL_NO_SANITIZE static void bind_pair(const char *name, void **base, void **recent, void **c_library)
{
    void *in_base = sl_elf_symbol(name, BASE_VERSION, C_LIBRARY_MARK),
         *in_recent = sl_elf_symbol(name, "GLIBC_2.34", C_LIBRARY_MARK);
    void *any = in_recent ? in_recent : in_base;
    if (!any) any = sl_elf_symbol(name, NULL, C_LIBRARY_MARK);
    if (!any) any = (void *)nothing_found;
    void *next_base = sl_elf_next(name, BASE_VERSION), *next_recent = sl_elf_next(name, "GLIBC_2.34");
    if (!next_base) next_base = in_base ? in_base : any;
    if (!next_recent) next_recent = in_recent ? in_recent : any;
    __atomic_store_n(c_library, any, __ATOMIC_RELEASE);
    __atomic_store_n(base, next_base, __ATOMIC_RELEASE);
    __atomic_store_n(recent, next_recent, __ATOMIC_RELEASE);
}

SL_NO_SANITIZE void sl_bind_lookup(void)
{
    if (__atomic_load_n(&sl_next_lookup[NEW_DLVSYM], __ATOMIC_ACQUIRE)) return;
    bind_pair("dlsym", &sl_next_lookup[BASE_DLSYM], &sl_next_lookup[NEW_DLSYM], &c_library_dlsym);
    bind_pair("dlvsym", &sl_next_lookup[BASE_DLVSYM], &sl_next_lookup[NEW_DLVSYM], &c_library_dlvsym);
}

void *sl_real_dlsym(void *handle, const char *name)
{
    sl_bind_lookup();
    return ((lookup_fn *)c_library_dlsym)(handle, name);
}

void *sl_real_dlvsym(void *handle, const char *name, const char *version)
{
    sl_bind_lookup();
    return ((versioned_lookup_fn *)c_library_dlvsym)(handle, name, version);
}

/* From here, RTLD_NEXT searches the libraries behind this one. Without the driver it finds nothing, and
 * dlerror reports that. */
static void *beyond_us(const char *name)
{
    return sl_real_dlsym(RTLD_NEXT, name);
}

static bool is_ours(const void *address)
{
    static uintptr_t known_first, known_end;
    uintptr_t first, end = __atomic_load_n(&known_end, __ATOMIC_ACQUIRE);
    if (end) {
        first = __atomic_load_n(&known_first, __ATOMIC_RELAXED);
    } else {
        if (!sl_elf_range((const void *)&sl_resolve, &first, &end)) return false;
        __atomic_store_n(&known_first, first, __ATOMIC_RELAXED);
        __atomic_store_n(&known_end, end, __ATOMIC_RELEASE);
    }
    return (uintptr_t)address >= first && (uintptr_t)address < end;
}

/* If the look-up names a library, the result is our entry, which calls that library's function. */
static bool resolve_nccl(void *handle, const char *name, const char *version, void **result)
{
    void *found = handle == RTLD_NEXT ? beyond_us(name)
                  : version           ? sl_real_dlvsym(handle, name, version)
                                      : sl_real_dlsym(handle, name);
    if (!found) return false;
    *result = !is_ours(found)          ? sl_nccl_entry_for(name, found)
              : sl_nccl_is_there(name) ? found
                                       : beyond_us(name);
    return true;
}

bool sl_resolve(void *handle, const char *name, const char *version, const void *caller, void **result)
{
    if (sl_nccl_intercepts(name)) return resolve_nccl(handle, name, version, result);
    if (!sl_driver_intercepts(name) || sl_from_driver(caller)) return false;

    /* For a caller behind this library, the next definition is the driver's, which ours replaces. */
    if (handle == RTLD_NEXT) {
        void *entry = sl_driver_load(NULL) ? sl_driver_entry_named(name) : NULL;
        *result = entry ? entry : beyond_us(name);
        return true;
    }

    void *found = version ? sl_real_dlvsym(handle, name, version) : sl_real_dlsym(handle, name);
    if (!found) return false; /* the look-up is repeated for the true caller, so that it gets the error */
    if (is_ours(found)) {
        void *entry = sl_driver_load(NULL) ? sl_driver_entry_named(name) : NULL;
        *result = entry ? entry : beyond_us(name);
        return true;
    }
    if (!sl_driver_load(handle == RTLD_DEFAULT ? NULL : found)) return false;
    *result = sl_driver_entry_for(found);
    return *result != NULL;
}
