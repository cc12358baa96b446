/* Prints what the dynamic linker was told; linked with a library that stands in for one of a sanitizer or of
 * an allocator. */
#include <stdio.h>
#include <stdlib.h>

int use_room(void);

static void show(const char *name)
{
    const char *value = getenv(name);
    printf("%s=%s\n", name, value ? value : "");
}

int main(void)
{
    show("LD_PRELOAD");
    show("GLIBC_TUNABLES");
    return use_room() - 1;
}
