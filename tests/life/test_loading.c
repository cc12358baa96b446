/* Libraries that use CUDA come and go in a program that does not: in every way of loading, from threads,
 * while others work. Arguments: a library on the driver, one on the runtime, one whose constructor uses CUDA
 * in a thread. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define VIRTUAL_BYTES (768ul << 20)

#define must(condition)                                                                                      \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                          \
            _exit(2);                                                                                        \
        }                                                                                                    \
    } while (0)

static char **libraries;
static bool stop;

static void use(const char *path, int flags, bool managed)
{
    void *library = dlopen(path, flags);
    if (!library) fprintf(stderr, "%s\n", dlerror());
    must(library != NULL);
    int (*train)(void) = (int (*)(void))dlsym(library, "plugin_train");
    unsigned long (*device_bytes)(void) = (unsigned long (*)(void))dlsym(library, "plugin_device_bytes");
    must(train && device_bytes && train() == 0);
    must((device_bytes() == VIRTUAL_BYTES) == managed);
    must(!dlclose(library));
}

static void *load_and_unload(void *path)
{
    for (int i = 0; i < 5; i++) use(path, RTLD_NOW | RTLD_LOCAL, true);
    return NULL;
}

static void *load_until_stopped(void *path)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) use(path, RTLD_LAZY | RTLD_LOCAL, true);
    return NULL;
}

static void in_a_thread(void *path)
{
    pthread_t thread;
    must(!pthread_create(&thread, NULL, load_and_unload, path));
    must(!pthread_join(thread, NULL));
}

static void while_another_is_used(void)
{
    pthread_t thread;
    must(!pthread_create(&thread, NULL, load_until_stopped, libraries[0]));
    for (int i = 0; i < 10; i++) use(libraries[1], RTLD_NOW | RTLD_LOCAL, true);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    must(!pthread_join(thread, NULL));
}

static void with_a_thread_in_its_constructor(void)
{
    for (int i = 0; i < 3; i++) {
        void *library = dlopen(libraries[2], RTLD_NOW);
        must(library && *(int *)dlsym(library, "plugin_loaded") == 1);
        must(!dlclose(library));
    }
}

int main(int count, char **arguments)
{
    must(count == 4);
    libraries = arguments + 1;
    in_a_thread(libraries[0]);
    for (int i = 0; i < 3; i++)
        for (int library = 0; library < 2; library++) {
            use(libraries[library], RTLD_NOW | RTLD_LOCAL, true);
            use(libraries[library], RTLD_LAZY | RTLD_GLOBAL, true);
        }
    in_a_thread(libraries[1]);
    while_another_is_used();
    with_a_thread_in_its_constructor();
#ifndef __SANITIZE_ADDRESS__
    /* Such a library finds its own names before anything that is preloaded: it works, and past us. */
    use(libraries[0], RTLD_NOW | RTLD_DEEPBIND, false);
#endif
    use(libraries[0], RTLD_NOW, true);
    return 0;
}
