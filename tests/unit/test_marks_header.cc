/* See test_marks_header.c; here behind the C library's header. */
#include <dlfcn.h>
#include <stdlib.h>

#include "sluice/marks.h"

namespace {
struct range {
    explicit range(const char *name)
    {
        sluice_mark_push(name);
    }
    ~range()
    {
        sluice_mark_pop();
    }
};
}

int main()
{
    range forward("forward");
    sluice_mark("a moment");
    if (sluice_save_profile() == 0) return EXIT_FAILURE;
    return dlsym(RTLD_DEFAULT, "sluice_mark_v1") ? EXIT_FAILURE : EXIT_SUCCESS;
}
