/* The installed header compiles alone, before what it must not disturb, in C and (test_figures_header.cc) in
 * C++. There is no sluice: nothing is filled. */
#include "sluice/figures.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "sluice/marks.h"

int main(void)
{
    struct sluice_figures now;
    now.launches = 7;
    if (sluice_get_figures(0, &now) != 0 || now.launches != 7) return EXIT_FAILURE;
    sluice_mark("both headers");
    return dlsym(RTLD_DEFAULT, "sluice_figures_v1") ? EXIT_FAILURE : EXIT_SUCCESS;
}
