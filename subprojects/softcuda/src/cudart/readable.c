#include "readable.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A line of /proc/self/maps */
struct mapping {
    unsigned long begin, end, inode;
    unsigned major, minor;
    bool readable;
};

static bool parse(const char *line, struct mapping *out)
{
    char access[5];
    *out = (struct mapping){0};
    if (sscanf(line, "%lx-%lx %4s %*x %x:%x %lu", &out->begin, &out->end, access, &out->major, &out->minor,
               &out->inode) != 6)
        return false;
    out->readable = access[0] == 'r';
    return true;
}

/* Whether the mapping continues the range, which is part of the file of `first` */
static bool continues(const struct sc_readable *range, const struct mapping *first,
                      const struct mapping *next)
{
    return next->readable && next->begin == range->end && next->inode == first->inode &&
           next->major == first->major && next->minor == first->minor;
}

/* Takes the next line, in the order of addresses. Returns false when the range that holds `at`, or the gap
 * around it, is complete. */
static bool take(const struct mapping *next, uintptr_t at, struct mapping *first, struct sc_readable *range)
{
    if (range->end > range->begin && continues(range, first, next)) {
        range->end = next->end;
        return true;
    }
    if (range->end > at || next->begin > at) return false;
    *first = *next;
    *range = (struct sc_readable){next->begin, next->readable ? next->end : next->begin};
    return true;
}

/* Reads the list to the range that holds `at`. false: it cannot be read. */
static bool read_list(int file, uintptr_t at, struct sc_readable *range)
{
    char text[4097];
    size_t held = 0;
    struct mapping first = {0}, next;
    for (;;) {
        ssize_t got = read(file, text + held, sizeof text - 1 - held);
        if (got <= 0) return got == 0;
        held += (size_t)got;
        text[held] = 0;
        char *line = text, *end;
        for (; (end = strchr(line, '\n')); line = end + 1) {
            *end = 0;
            if (parse(line, &next) && !take(&next, at, &first, range)) return true;
        }
        held -= (size_t)(line - text);
        memmove(text, line, held);
        if (held == sizeof text - 1) held = 100; /* a long path, whose end says nothing */
    }
}

size_t sc_readable_bytes(struct sc_readable *known, const void *address)
{
    uintptr_t at = (uintptr_t)address;
    if (at < known->begin || at >= known->end) {
        struct sc_readable range = {0};
        int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
        bool ok = file >= 0 && read_list(file, at, &range);
        if (file >= 0) close(file);
        if (!ok) return SIZE_MAX / 2;
        *known = range;
    }
    return at >= known->begin && at < known->end ? known->end - at : 0;
}
