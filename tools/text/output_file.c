#include "tools/text/output_file.h"

#include "base/options.h"

void output_force(bool force)
{
    sl_file_overwrite(force || sl_options_overwrite());
}

FILE *output_open(const char *path, const struct sl_file_kind *kind)
{
    return sl_file_path_replaceable(path, kind) ? fopen(path, "we") : NULL;
}
