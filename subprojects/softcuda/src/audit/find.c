/* An audit library of the dynamic loader (rtld-audit(7)): when the loader searches for a CUDA library, in
 * whatever folder, it returns the library beside this file. LD_LIBRARY_PATH is not enough: a wheel's DT_RPATH
 * takes precedence over it, and a library that is loaded by path is not searched for at all.
 */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The libraries that replace the vendor's, as far as they were built. */
static struct stand_in {
    const char *name;
    char path[PATH_MAX]; /* empty: not built */
} libraries[] = {
    {.name = "libcuda.so.1"},      {.name = "libcudart.so.12"}, {.name = "libcudart.so.13"},
    {.name = "libcublas.so.12"},   {.name = "libcublas.so.13"}, {.name = "libcublasLt.so.12"},
    {.name = "libcublasLt.so.13"}, {.name = "libcudnn.so.9"},   {.name = "libnccl.so.2"},
};
enum { LIBRARIES = sizeof libraries / sizeof *libraries };

__attribute__((visibility("default"))) unsigned la_version(unsigned version)
{
    Dl_info self;
    if (!dladdr(libraries, &self) || !self.dli_fname) return version;
    const char *slash = strrchr(self.dli_fname, '/');
    int folder = slash ? (int)(slash - self.dli_fname) : 0;
    for (int i = 0; slash && i < LIBRARIES; i++) {
        struct stand_in *one = &libraries[i];
        int length = snprintf(one->path, sizeof one->path, "%.*s/%s", folder, self.dli_fname, one->name);
        if (length >= (int)sizeof one->path || access(one->path, R_OK) != 0) one->path[0] = 0;
    }
    return version;
}

__attribute__((visibility("default"))) char *la_objsearch(const char *name, uintptr_t *cookie, unsigned flag)
{
    const char *slash = strrchr(name, '/'), *file = slash ? slash + 1 : name;
    (void)cookie, (void)flag;
    for (int i = 0; i < LIBRARIES; i++)
        if (libraries[i].path[0] && !strcmp(file, libraries[i].name)) return libraries[i].path;
    return (char *)name; /* la_objsearch returns a pointer to non-const, but the loader does not write to
                            it */
}
