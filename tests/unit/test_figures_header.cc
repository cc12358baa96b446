/* See test_figures_header.c; here behind the C library's header. */
#include <dlfcn.h>
#include <stdlib.h>

#include "sluice/marks.h"

#include "sluice/figures.h"

int main()
{
    sluice_figures now = sluice_figures();
    now.launches = 7;
    if (sluice_get_figures(0, &now) != 0 || now.launches != 7) return EXIT_FAILURE;
    sluice_mark("both headers");
    return dlsym(RTLD_DEFAULT, "sluice_figures_v1") ? EXIT_FAILURE : EXIT_SUCCESS;
}
