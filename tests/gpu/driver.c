#include "driver.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct driver cu;

static bool find(void *library, const char *name, size_t offset)
{
    void *symbol = dlsym(library, name);
    memcpy((char *)&cu + offset, &symbol, sizeof symbol);
    return symbol != NULL;
}

bool driver_load(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "um_probe: %s\n", dlerror());
        return false;
    }
    const char *missing = NULL;
/* Two steps, so that cuda.h's macros have renamed the function before it becomes a text. */
#define TEXT(name) #name
#define REQUIRED(name) REQUIRED_(name, TEXT)
#define REQUIRED_(name, text)                                                                                \
    if (!find(library, text(name), offsetof(struct driver, name))) missing = text(name);
#define OPTIONAL(name) OPTIONAL_(name, TEXT)
#define OPTIONAL_(name, text) find(library, text(name), offsetof(struct driver, name));
    REQUIRED_FUNCTIONS(REQUIRED)
    OPTIONAL_FUNCTIONS(OPTIONAL)
    if (missing) fprintf(stderr, "um_probe: the driver has no %s\n", missing);
    return !missing;
}
