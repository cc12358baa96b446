/* Another preloaded object that replaces dlsym, as overlays, profilers and other shims do: it counts, answers
 * one name itself, and passes the rest on to the next definition. */
#include <dlfcn.h>
#include <string.h>

#define SHOWN __attribute__((visibility("default")))

SHOWN unsigned long hook_count;
SHOWN int hook_answer;

SHOWN void *dlsym(void *restrict handle, const char *restrict name)
{
    static void *(*next)(void *, const char *);
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    for (int i = 0; i < 3 && !next; i++)
        next = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    hook_count++;
    if (!strcmp(name, "the_hooks_own")) return &hook_answer;
    return next(handle, name);
}
