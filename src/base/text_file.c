#include "base/text_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool sl_text_open(struct sl_text_file *file, const char *root, const char *folder, const char *name)
{
    file->cut = false;
    file->begin = file->end = 0;
    /* The path lies in the buffer, which is not needed before. */
    int length = snprintf(file->text, sizeof file->text, "%s%s%s", root, folder, name);
    file->file = length < 0 || length >= PATH_MAX ? -1 : open(file->text, O_RDONLY | O_CLOEXEC);
    return file->file >= 0;
}

void sl_text_close(struct sl_text_file *file)
{
    if (file->file >= 0) close(file->file);
    file->file = -1;
}

/* Reads more behind what is there. False: nothing more comes. */
static bool read_more(struct sl_text_file *file)
{
    memmove(file->text, file->text + file->begin, file->end - file->begin);
    file->end -= file->begin;
    file->begin = 0;
    if (file->end == sizeof file->text - 1) {
        file->cut = true;
        file->end = 0;
    }
    ssize_t got = read(file->file, file->text + file->end, sizeof file->text - 1 - file->end);
    if (got <= 0) return false;
    file->end += (size_t)got;
    return true;
}

bool sl_text_line(struct sl_text_file *file, char **line)
{
    for (;;) {
        char *at = file->text + file->begin, *end = memchr(at, '\n', file->end - file->begin);
        bool more = end || read_more(file);
        if (!more && file->begin == file->end) return false;
        if (more && !end) continue;
        at = file->text + file->begin;
        if (!end) end = file->text + file->end; /* the last line has no end */
        bool rest = file->cut;
        file->cut = false;
        file->begin = (size_t)(end - file->text) + more;
        *end = 0;
        if (rest) continue;
        *line = at;
        return true;
    }
}

bool sl_text_number(struct sl_text_file *file, const char *root, const char *folder, const char *name,
                    const char *key, uint64_t *out)
{
    size_t length = strlen(key);
    bool found = false;
    if (!sl_text_open(file, root, folder, name)) return false;
    for (char *line; !found && sl_text_line(file, &line);) {
        if (strncmp(line, key, length) != 0 || (length && line[length] != ' ')) continue;
        const char *digits = line + length + strspn(line + length, " ");
        if (*digits < '0' || *digits > '9') break;
        *out = strtoull(digits, NULL, 10);
        found = true;
    }
    sl_text_close(file);
    return found;
}
