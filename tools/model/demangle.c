#include "tools/model/demangle.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

/* abi::__cxa_demangle, of the Itanium C++ ABI. */
typedef char *demangle_fn(const char *name, char *out, size_t *bytes, int *status);

/* Looked up at the first use, so that the command runs without a C++ library. */
static demangle_fn *find(void)
{
    static demangle_fn *found;
    static bool looked;
    if (looked) return found;
    looked = true;
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    if (!library) library = dlopen("libc++abi.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library) found = (demangle_fn *)dlsym(library, "__cxa_demangle");
    return found;
}

char *demangle(const char *name)
{
    int status = -1;
    if (name[0] != '_' || name[1] != 'Z' || !find()) return NULL;
    char *text = find()(name, NULL, NULL, &status);
    return status == 0 ? text : NULL;
}
