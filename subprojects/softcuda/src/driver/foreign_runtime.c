#include "foreign_runtime.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "default_driver.h"
#include "log.h"

#define FILES_MOST 64

/* Whether the line for the file was written already. Of more files than the list holds nothing is written. */
static bool was_named(const void *file)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const void *named[FILES_MOST];
    static int count;
    pthread_mutex_lock(&lock);
    bool known = count == FILES_MOST;
    for (int i = 0; i < count && !known; i++) known = named[i] == file;
    if (!known) named[count++] = file;
    pthread_mutex_unlock(&lock);
    return known;
}

/* Length of the path's folder, with the slash. */
static size_t folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* The same of softcuda's other libraries, if this one's path is `path`: the library of an older driver lies
 * in a folder of the driver's name beside them. */
static size_t folder_of_all(const char *path)
{
    size_t folder = folder_of(path), name = strlen(sc_default_driver);
    bool is_older = folder > name + 1 && path[folder - name - 2] == '/' &&
                    !strncmp(path + folder - name - 1, sc_default_driver, name);
    return is_older ? folder - name - 1 : folder;
}

static bool is_softcudas(const char *path)
{
    Dl_info self;
    if (!dladdr((void *)sc_foreign_runtime, &self) || !self.dli_fname) return false;
    size_t folder = folder_of_all(self.dli_fname);
    return folder && folder == folder_of(path) && !strncmp(path, self.dli_fname, folder);
}

/* Whether the file is the program itself, whose name dladdr gives as it was started. */
static bool is_program(const char *path)
{
    char program[PATH_MAX], file[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0 || !strchr(path, '/')) return length > 0;
    program[length] = 0;
    return realpath(path, file) && !strcmp(file, program);
}

void sc_foreign_runtime(const void *caller)
{
    Dl_info info;
    if (!dladdr(caller, &info) || !info.dli_fname || is_softcudas(info.dli_fname) ||
        was_named(info.dli_fbase))
        return;
    const char *path = info.dli_fname;
    if (!strncmp(path + folder_of(path), "libcudart.so", 12))
        sc_log("%s is NVIDIA's CUDA runtime, which needs NVIDIA's driver: load softcuda's libcudart.so instead "
               "(sluice run --software does)",
               path);
    else if (is_program(path))
        sc_log("%s is linked with NVIDIA's static CUDA runtime, which needs NVIDIA's driver: link it with "
               "nvcc -cudart shared, or with -lcudart in place of -lcudart_static",
               path);
    else
        sc_log("%s holds NVIDIA's static CUDA runtime, which needs NVIDIA's driver: use a build of the library "
               "with the shared runtime, or run without the library",
               path);
}
