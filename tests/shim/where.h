/* Which loaded object a function is in. */
#ifndef WHERE_H
#define WHERE_H

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

static inline bool lies_in(const void *function, const char *object)
{
    Dl_info info;
    return function && dladdr(function, &info) && strstr(info.dli_fname, object);
}

#endif
