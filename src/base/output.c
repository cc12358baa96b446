#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/signals.h"

/* --- kinds of files */

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

/* --- files */

/* O_NONBLOCK: opening a pipe without a reader must not hang the program. */
#define OPEN_FLAGS (O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

/* Another user may have made the file for us to fill: in a shared folder, to read its content, or as another
 * name of a file that we must not change. */
static bool is_somebody_elses(const struct stat *at)
{
    return S_ISREG(at->st_mode) && (at->st_uid != geteuid() || at->st_nlink != 1);
}

int sl_output_above_standard(int fd)
{
    if (fd < 0 || fd >= 3) return fd;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, 3), error = errno;
    close(fd);
    errno = error;
    return higher;
}

enum sl_status sl_output_open(const char *path, const struct sl_file_kind *kind, struct sl_output *out)
{
    int mode = OPEN_FLAGS | (kind ? O_RDWR : O_WRONLY | O_APPEND);
    int fd = open(path, mode | O_CREAT | O_EXCL, 0600);
    bool old = fd < 0 && errno == EEXIST;
    if (old) fd = open(path, mode);
    if (old && kind && fd < 0 && errno == EACCES)
        fd = open(path, OPEN_FLAGS | O_WRONLY); /* a terminal, for example */
    if (fd < 0) return SL_ERR_IO;
    struct stat at;
    int error = EINVAL;
    fd = sl_output_above_standard(fd);
    if (fd < 0) return SL_ERR_IO;
    if (fstat(fd, &at) != 0) goto error_errno;
    if (!S_ISREG(at.st_mode) && !S_ISCHR(at.st_mode)) goto error;
    if (old && is_somebody_elses(&at)) {
        error = EPERM;
        goto error;
    }
    if (kind && !sl_file_replaceable(fd, kind)) goto error_errno;
    if (kind && S_ISREG(at.st_mode)) {
        /* If files cannot be locked at all, assumes that no process writes it. */
        if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) goto error_errno;
        if (ftruncate(fd, 0) != 0) goto error_errno;
    }
    *out = (struct sl_output){.fd = fd, .device = at.st_dev, .inode = at.st_ino};
    return SL_OK;

error_errno:
    error = errno;
error:
    close(fd);
    errno = error;
    return SL_ERR_IO;
}

bool sl_output_valid(const struct sl_output *output)
{
    struct stat now;
    return output->fd >= 0 && fstat(output->fd, &now) == 0 && now.st_dev == output->device &&
           now.st_ino == output->inode;
}

ssize_t sl_output_put(int fd, const void *bytes, size_t count)
{
    struct sl_quiet_signals quiet;
    sl_quiet_signals_begin(&quiet);
    ssize_t written = write(fd, bytes, count);
    sl_quiet_signals_end(&quiet, written < 0 ? errno : 0);
    return written;
}

bool sl_output_put_at(int fd, const void *bytes, size_t count, off_t at)
{
    struct sl_quiet_signals quiet;
    sl_quiet_signals_begin(&quiet);
    ssize_t written = pwrite(fd, bytes, count, at);
    sl_quiet_signals_end(&quiet, written < 0 ? errno : 0);
    return written == (ssize_t)count;
}

enum sl_status sl_output_write(const struct sl_output *output, const void *bytes, size_t count)
{
    for (const char *at = bytes; count;) {
        ssize_t written = sl_output_put(output->fd, at, count);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return SL_ERR_IO;
        at += written;
        count -= (size_t)written;
    }
    return SL_OK;
}

void sl_output_close(struct sl_output *output)
{
    int error = errno;
    if (sl_output_valid(output)) close(output->fd);
    output->fd = -1;
    errno = error;
}

/* *ours (may be NULL): whether this call opened the file at `path`. */
static enum sl_status write_whole(const char *path, const struct sl_file_kind *kind, const void *bytes,
                                  size_t count, bool *ours)
{
    struct sl_output file = {.fd = -1};
    enum sl_status status = sl_output_open(path, kind, &file);
    if (ours) *ours = status == SL_OK;
    if (status) return status;
    status = sl_output_write(&file, bytes, count);
    sl_output_close(&file);
    return status;
}

bool sl_output_allowed(const char *path, const struct sl_file_kind *kind)
{
    struct stat at;
    if (lstat(path, &at) != 0 || S_ISCHR(at.st_mode)) return true;
    if (S_ISREG(at.st_mode) && !is_somebody_elses(&at)) return sl_file_path_replaceable(path, kind);
    errno = S_ISREG(at.st_mode) || S_ISLNK(at.st_mode) ? EPERM : EINVAL;
    return false;
}

enum sl_status sl_output_replace(const char *path, const struct sl_file_kind *kind, const void *bytes,
                                 size_t count)
{
    struct stat at;
    bool ours;
    if (lstat(path, &at) == 0 && S_ISCHR(at.st_mode)) return write_whole(path, kind, bytes, count, NULL);
    if (!sl_output_allowed(path, kind)) return SL_ERR_IO;
    size_t room = strlen(path) + 32; /* on the heap: the thread may have a small stack */
    char *beside = malloc(room);
    if (!beside) return SL_ERR_NO_MEMORY;
    /* One name for each process: the last process to finish wins. */
    snprintf(beside, room, "%s.%ld", path, (long)getpid());
    enum sl_status status = write_whole(beside, kind, bytes, count, &ours);
    if (status == SL_OK && rename(beside, path) != 0) status = SL_ERR_IO;
    int error = errno;
    if (status && ours) unlink(beside);
    free(beside);
    errno = error;
    return status;
}
