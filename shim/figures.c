/* What sluice/figures.h calls. */
#include "core/figures.h"

#include <string.h>

__attribute__((visibility("default"))) size_t sluice_figures_v1(unsigned number, struct sluice_figures *out,
                                                                size_t bytes)
{
    struct sluice_figures now = {0};
    if (!sl_runtime_figures(number, &now)) return 0;
    size_t known = bytes < sizeof(now) ? bytes : sizeof(now);
    memset(out, 0, bytes);
    memcpy(out, &now, known);
    return known;
}
