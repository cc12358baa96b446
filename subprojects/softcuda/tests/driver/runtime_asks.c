/* Asks the driver for a table that only NVIDIA's has, as NVIDIA's runtime does. As a program, from itself and
 * twice from each library that is named; as a library, it is what the program calls. */
#include <dlfcn.h>
#include <stdio.h>

#include <cuda.h>

__attribute__((visibility("default"))) int ask_for_table(void);

int ask_for_table(void)
{
    static const CUuuid id = {"no such table."};
    const void *table = &id;
    return cuGetExportTable(&table, &id) == CUDA_ERROR_NOT_SUPPORTED && !table ? 0 : 1;
}

int main(int argc, char **argv)
{
    int wrong = ask_for_table();
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        int (*ask)(void) = NULL;
        if (library) *(void **)&ask = dlsym(library, "ask_for_table");
        if (!ask) {
            fprintf(stderr, "%s\n", dlerror());
            return 2;
        }
        wrong |= ask() | ask();
    }
    return wrong;
}
