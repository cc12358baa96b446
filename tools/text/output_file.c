#include "tools/text/output_file.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/options.h"
#include "base/output.h"
#include "tools/text/messages.h"

void output_force(bool force)
{
    sl_file_overwrite(force || sl_options_overwrite());
}

FILE *output_open(const char *path, const struct sl_file_kind *kind)
{
    return sl_file_path_replaceable(path, kind) ? fopen(path, "we") : NULL;
}

int output_replace(const char *path, const struct sl_file_kind *kind, const void *bytes, size_t count)
{
    enum sl_status status = sl_output_replace(path, kind, bytes, count);
    if (status == SL_OK) return EXIT_OK;
    return failure("cannot write %s: %s", path,
                   status == SL_ERR_IO ? sl_file_problem(kind, errno) : sl_status_text(status));
}

bool output_is_same_file(const char *one, const char *other)
{
    struct stat a, b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}
