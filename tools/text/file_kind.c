#include "tools/text/file_kind.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* The first bytes of each kind: of sluice's files as their writers have them. */
static const struct file_kind {
    const char *start, *what;
} kinds[] = {
    {"\211SLUICE\n", "; it is a trace, which sluice trace info shows"},
    {"SLPROF\r\n", "; it is a profile, which sluice profile shows"},
    {"SLLIVE\r\n", "; it has the figures of a running program, which sluice stats shows"},
    {"{\"kind\": \"sluice statistics\"", "; it has the statistics of sluice run --stats, as JSON"},
    {"<!DOCTYPE html>", "; it is a page: open it with a browser"},
    {"\x1F\x8B", "; it is compressed: gunzip it"},
    {"\x28\xB5\x2F\xFD", "; it is compressed: unzstd it"},
    {"\xFD\x37zXZ", "; it is compressed: unxz it"},
    {"PK\3\4", "; it is compressed: unzip it"},
};

const char *other_file_kind(const char *path, const char *wanted)
{
    char start[32];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t got = fd < 0 ? -1 : read(fd, start, sizeof(start));
    if (fd >= 0) close(fd);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        size_t bytes = strlen(kinds[i].start);
        if (got >= (ssize_t)bytes && !memcmp(start, kinds[i].start, bytes))
            return wanted && !strcmp(wanted, kinds[i].start) ? "" : kinds[i].what;
    }
    return "";
}
