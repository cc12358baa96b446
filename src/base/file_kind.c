#include "base/file_kind.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool overwrites;

void sl_file_overwrite(bool allowed)
{
    overwrites = allowed;
}

bool sl_file_overwrites(void)
{
    return overwrites;
}

bool sl_file_replaceable(int fd, const struct sl_file_kind *kind)
{
    struct stat at;
    char head[SL_MARKER_WITHIN];
    if (fstat(fd, &at) != 0) return false;
    if (!S_ISREG(at.st_mode) || !at.st_size || overwrites) return true;
    ssize_t got = pread(fd, head, sizeof(head), 0);
    if (got >= 0 && memmem(head, (size_t)got, kind->marker, kind->marker_bytes)) return true;
    errno = EEXIST;
    return false;
}

/* A file that cannot be read is of unknown kind, so it is not replaced. */
bool sl_file_path_replaceable(const char *path, const struct sl_file_kind *kind)
{
    struct stat at;
    if (stat(path, &at) != 0 || !S_ISREG(at.st_mode) || !at.st_size || overwrites) return true;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    bool replaceable = fd >= 0 && sl_file_replaceable(fd, kind);
    if (fd >= 0) close(fd);
    if (!replaceable) errno = EEXIST;
    return replaceable;
}

const char *sl_file_problem(const struct sl_file_kind *kind, int error)
{
    return error == EEXIST ? kind->refusal : strerror(error);
}
