#include "tools/command/executable.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROGRAM_HEADERS_MAX = 64 };

/* Opens the file that execvp would run. */
static int open_command(const char *command)
{
    const char *folders = getenv("PATH");
    if (strchr(command, '/') || !folders) return open(command, O_RDONLY | O_CLOEXEC);
    for (;;) {
        int length = (int)strcspn(folders, ":");
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%.*s%s%s", length, folders, length ? "/" : "", command);
        if (access(path, X_OK) == 0) return open(path, O_RDONLY | O_CLOEXEC);
        if (!folders[length]) return -1;
        folders += length + 1;
    }
}

static bool has_interpreter(int fd, const Elf64_Ehdr *header)
{
    Elf64_Phdr segments[PROGRAM_HEADERS_MAX];
    size_t bytes = header->e_phnum * sizeof(*segments);
    if (header->e_phentsize != sizeof(*segments) || bytes > sizeof(segments) ||
        pread(fd, segments, bytes, (off_t)header->e_phoff) != (ssize_t)bytes)
        return true; /* an unusual file: nothing is known to prevent preloading */
    for (unsigned i = 0; i < header->e_phnum; i++)
        if (segments[i].p_type == PT_INTERP) return true;
    return false;
}

static const char *obstacle_in(int fd)
{
    struct stat at;
    Elf64_Ehdr header;
    /* the dynamic linker ignores paths in LD_PRELOAD if the program is privileged */
    if (fstat(fd, &at) == 0 && (at.st_mode & S_ISUID) && at.st_uid != geteuid()) return "is a setuid program";
    if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return NULL;
    if (header.e_ident[EI_CLASS] != ELFCLASS64) return "is not a 64-bit program";
    return has_interpreter(fd, &header) ? NULL : "is statically linked";
}

const char *preload_obstacle(const char *command)
{
    int fd = open_command(command);
    if (fd < 0) return NULL;
    const char *obstacle = obstacle_in(fd);
    close(fd);
    return obstacle;
}
