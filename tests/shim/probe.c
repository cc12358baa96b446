/* Prints nothing and succeeds if the driver's functions lead through the object that SLUICE_EXPECT names. */
#include <stdio.h>
#include <stdlib.h>

#include "numbers.h"
#include "where.h"

int main(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    const char *expected = getenv("SLUICE_EXPECT");
    if (!driver || !expected) return fprintf(stderr, "%s\n", driver ? "nothing expected" : dlerror()), 1;
    for (int i = 0; i < 2; i++) {
        sl_fn_cuMemFree_v2 *function = (sl_fn_cuMemFree_v2 *)dlsym(driver, "cuMemFree_v2");
        if (!lies_in((void *)function, expected))
            return fprintf(stderr, "cuMemFree_v2 is not the shim's\n"), 1;
        if ((int)function(0) != NUMBER_cuMemFree_v2) return fprintf(stderr, "another function answered\n"), 1;
        if (dlsym(driver, "getenv") != (void *)getenv) return fprintf(stderr, "getenv has moved\n"), 1;
    }
    return 0;
}
