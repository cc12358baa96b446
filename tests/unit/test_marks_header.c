/* The installed header compiles alone, before what it must not disturb, in C and (test_marks_header.cc) in
 * C++. Nobody listens: nothing happens. */
#include "sluice/marks.h"

#include <dlfcn.h>
#include <stdlib.h>

int main(void)
{
    sluice_mark("a moment");
    sluice_mark_push("forward");
    sluice_mark_push(NULL);
    sluice_mark_pop();
    sluice_mark_pop();
    if (sluice_save_profile() == 0) return EXIT_FAILURE;
    return dlsym(RTLD_DEFAULT, "sluice_mark_v1") ? EXIT_FAILURE : EXIT_SUCCESS;
}
