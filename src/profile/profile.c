/* Profile files. */
#include "profile/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output.h"
#include "profile/profile_format.h"

#define FILE_MOST (128 * SL_MIB)

/* Reads a whole plain file; a device counts as empty. The caller frees *out with free(). */
static enum sl_status read_whole(int file, uint8_t **out, size_t *count)
{
    struct stat at;
    if (fstat(file, &at) != 0) return SL_ERR_IO;
    bool device = S_ISCHR(at.st_mode);
    if ((!device && !S_ISREG(at.st_mode)) || (uint64_t)at.st_size > FILE_MOST) return SL_ERR_FORMAT;
    size_t size = device ? 0 : (size_t)at.st_size, used = 0;
    uint8_t *bytes = malloc(size + 1);
    if (!bytes) return SL_ERR_NO_MEMORY;
    while (used < size) {
        ssize_t got = read(file, bytes + used, size - used);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            int error = errno;
            free(bytes);
            errno = error;
            return SL_ERR_IO;
        }
        if (got == 0) break;
        used += (size_t)got;
    }
    *out = bytes;
    *count = used;
    return SL_OK;
}

enum sl_status sl_profile_read(const char *path, struct sl_profile *out, bool *is_one)
{
    uint8_t *bytes = NULL;
    size_t count = 0;
    bool replaceable = false;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (is_one) *is_one = file < 0 && errno == ENOENT;
    if (file < 0) return SL_ERR_IO;
    enum sl_status status = read_whole(file, &bytes, &count);
    int error = errno;
    close(file);
    if (status == SL_OK) {
        replaceable = !count || sl_profile_is_one(bytes, count) || sl_file_overwrites();
        status = count ? sl_profile_decode(bytes, count, out) : SL_ERR_IO; /* empty, as from mktemp */
        error = ENOENT;
        free(bytes);
    }
    if (is_one) *is_one = replaceable;
    errno = error;
    return status;
}

enum sl_status sl_profile_write(const char *path, const struct sl_profile *profile)
{
    uint8_t *bytes;
    size_t count;
    enum sl_status status = sl_profile_encode(profile, &bytes, &count);
    if (status) return status;
    status = sl_output_replace(path, &sl_file_profile, bytes, count);
    int error = errno;
    free(bytes);
    errno = error;
    return status;
}
