/* A shared object that wraps a function of its program's world, as interposers do. */
#include <dlfcn.h>
#include <stddef.h>

#include "next_object.h"

const char *next_who(void)
{
    return "object";
}

next_who_fn *next_from_object(void)
{
    return next_last_word() ? (next_who_fn *)dlsym(RTLD_NEXT, "next_who") : NULL;
}

next_who_fn *next_version_from_object(void)
{
    return (next_who_fn *)dlvsym(RTLD_NEXT, "getenv", "GLIBC_2.2.5");
}

void *default_from_object(void)
{
    return dlsym(RTLD_DEFAULT, "next_who");
}
