#include "tools/command/static_tls.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/command/commands.h"
#include "tools/text/messages.h"

#define VARIABLE "GLIBC_TUNABLES"
#define TUNABLE "glibc.rtld.optional_static_tls"

/* Also for what a script preloads later: allocators need up to 3 KiB. */
#define LEAST_BYTES 4096u
#define MOST_BYTES ((uint64_t)64 << 20)
enum { PROGRAM_HEADERS_MAX = 64 };

/* The thread-local storage of an object, with room for its alignment; 0: none, or not readable. */
static uint64_t storage_of(const char *path)
{
    Elf64_Ehdr header;
    Elf64_Phdr segments[PROGRAM_HEADERS_MAX];
    uint64_t bytes = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    size_t size = 0;
    bool is_elf = pread(fd, &header, sizeof(header), 0) == sizeof(header) &&
                  !memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_ident[EI_CLASS] == ELFCLASS64 &&
                  header.e_phentsize == sizeof(*segments);
    if (is_elf) size = header.e_phnum * sizeof(*segments);
    if (size && size <= sizeof(segments) && pread(fd, segments, size, (off_t)header.e_phoff) == (ssize_t)size)
        for (unsigned i = 0; i < header.e_phnum; i++)
            if (segments[i].p_type == PT_TLS && segments[i].p_memsz < MOST_BYTES)
                bytes = segments[i].p_memsz + (segments[i].p_align & 0xffff);
    close(fd);
    return bytes;
}

/* Starts the dynamic linker, which lists on `to` what it would load. Does not return. */
static void list_objects(const struct executable *executable, int to)
{
    int nothing = open("/dev/null", O_WRONLY);
    dup2(to, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
    execl(executable->loader, executable->loader, "--list", executable->path, (char *)NULL);
    _exit(1);
}

/* The sum over the lines "NAME => PATH (ADDRESS)" and "PATH (ADDRESS)". */
static uint64_t storage_in(FILE *list)
{
    char *line = NULL;
    size_t capacity = 0;
    uint64_t bytes = 0;
    while (getline(&line, &capacity, list) > 0) {
        char *path = strstr(line, "=> "), *end = strstr(line, " (0x");
        path = path ? path + 3 : line + strspn(line, "\t ");
        if (!end || end < path) continue;
        *end = 0;
        bytes += storage_of(path);
        if (bytes > MOST_BYTES) bytes = MOST_BYTES;
    }
    free(line);
    return bytes;
}

static uint64_t storage_of_all(const struct executable *executable)
{
    int ends[2];
    uint64_t bytes = 0;
    if (!strstr(executable->loader, "/ld-linux") || pipe(ends) != 0) return 0;
    pid_t child = fork();
    if (child == 0) list_objects(executable, ends[1]);
    close(ends[1]);
    FILE *list = child > 0 ? fdopen(ends[0], "r") : NULL;
    if (list) bytes = storage_in(list);
    if (list)
        fclose(list);
    else
        close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
    return bytes;
}

int static_tls_make_room(const struct executable *executable)
{
    const char *before = getenv(VARIABLE);
    if (before && strstr(before, TUNABLE)) return EXIT_OK;
    uint64_t bytes = LEAST_BYTES + storage_of_all(executable);
    bool more = before && *before;
    char *value;
    if (asprintf(&value, "%s%s" TUNABLE "=%llu", more ? before : "", more ? ":" : "",
                 (unsigned long long)bytes) < 0)
        return failure("out of memory");
    int error = setenv(VARIABLE, value, 1);
    free(value);
    return error ? failure("cannot set %s: %s", VARIABLE, strerror(errno)) : EXIT_OK;
}
