#include "tools/command/places.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Relative to the folder of this command. SLUICE_LIBDIR is the installed library folder, relative to the
 * prefix or absolute. */
static const char *const library_places[] = {"../shim/libsluice.so", "../" SLUICE_LIBDIR "/libsluice.so",
                                             "../lib/libsluice.so", NULL};
static const char *const software_places[] = {
    "../subprojects/softcuda/lib", "../" SLUICE_LIBDIR "/sluice/softcuda", "../lib/sluice/softcuda", NULL};
static const char *const demo_places[] = {"../workloads", "../" SLUICE_LIBDIR "/sluice/demo",
                                          "../lib/sluice/demo", NULL};

static bool find(const char *const *places, const char *file, char *out, size_t bytes)
{
    char self[PATH_MAX], path[2 * PATH_MAX], resolved[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0) return false;
    self[length] = 0;
    *strrchr(self, '/') = 0;
    for (; *places; places++) {
        snprintf(path, sizeof(path), "%s/%s%s", self, *places, file);
        if (!realpath(path, resolved)) continue;
        snprintf(path, sizeof(path), "%s/%s", self, *places);
        if (!realpath(path, resolved) || strlen(resolved) >= bytes) continue;
        strcpy(out, resolved);
        return true;
    }
    return false;
}

bool find_library(char *out, size_t bytes)
{
    return find(library_places, "", out, bytes);
}

bool find_software_device(char *out, size_t bytes)
{
    return find(software_places, "/libcuda.so.1", out, bytes);
}

bool find_demo(char *out, size_t bytes)
{
    return find(demo_places, "/gpt", out, bytes);
}
