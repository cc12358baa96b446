/* PyTorch's allocators report every block that they hand out or take back to its profiler, by a C++ function
 * of libc10.so that libc10_cuda.so calls across libraries, whether a profiler listens or not. This function
 * has the same name and is found first; it calls the original. PyTorch 2.6 and 2.15 have the name; if it
 * changes, nothing is reported, and mappings move as a whole. */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/runtime.h"
#include "lookup.h"
#include "mapping.h"
#include "session.h"

#define LIBRARY "libc10.so" /* prefix of its file name */
#define NAME _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
#define CUDA 1 /* c10::DeviceType */

/* c10::Device. */
struct device {
    int8_t type, index;
};
typedef void report(void *address, int64_t bytes, size_t allocated, size_t reserved, struct device device);

__attribute__((visibility("default"))) report NAME;

/* The search only records the path: opening a library needs the loader's lock, which is held here. */
static int find_library(struct dl_phdr_info *object, size_t bytes, void *path)
{
    const char *slash = strrchr(object->dlpi_name, '/'), *name = slash ? slash + 1 : object->dlpi_name;
    size_t length = strlen(object->dlpi_name);
    (void)bytes;
    if (strncmp(name, LIBRARY, strlen(LIBRARY)) || length >= PATH_MAX) return 0;
    memcpy(path, object->dlpi_name, length + 1);
    return 1;
}

/* Python loads libraries into a module's scope, so this one is not among the global symbols, and its file
 * name may contain a version. NULL: it is not loaded. */
static report *find_real(void)
{
    static report *_Atomic known;
    report *real = atomic_load_explicit(&known, memory_order_relaxed);
    char path[PATH_MAX];
    void *library = NULL;
    if (real) return real;
    real = (report *)sl_real_dlsym(RTLD_NEXT, TEXT(NAME));
    if (!real && dl_iterate_phdr(find_library, path)) library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (library) {
        real = (report *)sl_real_dlsym(library, TEXT(NAME));
        dlclose(library);
    }
    atomic_store_explicit(&known, real, memory_order_relaxed);
    return real;
}

static void note(uint64_t address, int64_t bytes, const void *caller)
{
    if (bytes > 0) {
        sl_runtime_block_taken(address, (uint64_t)bytes, sl_site_here(caller));
        return;
    }
    bool entered;
    if (sl_session_enter(address, &entered)) sl_runtime_block_returned(address);
    sl_session_leave(entered);
}

void NAME(void *address, int64_t bytes, size_t allocated, size_t reserved, struct device device)
{
    report *real = find_real();
    bool ours = device.type == CUDA && bytes && sl_options_in_force()->framework == SL_FRAMEWORK_AUTO &&
                sl_reservation_holds((uintptr_t)address);
    if (ours) note((uintptr_t)address, bytes, __builtin_return_address(0));
    if (real) real(address, bytes, allocated, reserved, device);
}
