#include "tools/command/executable.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PROGRAM_HEADERS_MAX = 64,
    DYNAMIC_MAX = 4096,
    SCRIPT_DEPTH = 2,
    SCRIPT_LINE = 256 /* of the kernel */
};

bool executable_find(const char *command, char path[PATH_MAX])
{
    const char *folders = getenv("PATH");
    if (strchr(command, '/') || !folders) return snprintf(path, PATH_MAX, "%s", command) < PATH_MAX;
    for (;;) {
        int length = (int)strcspn(folders, ":");
        snprintf(path, PATH_MAX, "%.*s%s%s", length, folders, length ? "/" : "", command);
        if (access(path, X_OK) == 0) return true;
        if (!folders[length]) return false;
        folders += length + 1;
    }
}

struct elf {
    int fd;
    Elf64_Phdr segments[PROGRAM_HEADERS_MAX];
    unsigned count;
};

/* False: an unusual file, of which nothing is known. */
static bool read_segments(struct elf *elf, const Elf64_Ehdr *header)
{
    size_t bytes = header->e_phnum * sizeof(*elf->segments);
    elf->count = header->e_phnum;
    return header->e_phentsize == sizeof(*elf->segments) && bytes <= sizeof(elf->segments) &&
           pread(elf->fd, elf->segments, bytes, (off_t)header->e_phoff) == (ssize_t)bytes;
}

static const Elf64_Phdr *segment_of(const struct elf *elf, uint32_t type)
{
    for (unsigned i = 0; i < elf->count; i++)
        if (elf->segments[i].p_type == type) return &elf->segments[i];
    return NULL;
}

/* Reads a text of the file, as far as there is room. */
static void read_text(int fd, off_t at, char *out, size_t bytes)
{
    ssize_t got = pread(fd, out, bytes - 1, at);
    out[got > 0 ? got : 0] = 0;
}

/* The offset in the file of an address; -1: it is in no segment. */
static off_t offset_of(const struct elf *elf, uint64_t address)
{
    for (unsigned i = 0; i < elf->count; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        if (segment->p_type == PT_LOAD && address - segment->p_vaddr < segment->p_filesz)
            return (off_t)(segment->p_offset + (address - segment->p_vaddr));
    }
    return -1;
}

bool executable_comes_first(const char *library)
{
    return !strncmp(library, "libasan.so", 10) || !strncmp(library, "libclang_rt.asan", 16);
}

/* Finds the runtime that has to come first among the libraries that the program needs. */
static void find_first(const struct elf *elf, char *out, size_t bytes)
{
    const Elf64_Phdr *segment = segment_of(elf, PT_DYNAMIC);
    Elf64_Dyn *entries = malloc(DYNAMIC_MAX * sizeof(*entries));
    off_t names = -1;
    char library[PATH_MAX];
    size_t size = segment && segment->p_filesz < DYNAMIC_MAX * sizeof(*entries) ? segment->p_filesz : 0;
    ssize_t got = entries && size ? pread(elf->fd, entries, size, (off_t)segment->p_offset) : 0;
    size_t count = got > 0 ? (size_t)got / sizeof(*entries) : 0;
    for (size_t i = 0; i < count; i++)
        if (entries[i].d_tag == DT_STRTAB) names = offset_of(elf, entries[i].d_un.d_ptr);
    for (size_t i = 0; i < count && names >= 0; i++) {
        if (entries[i].d_tag != DT_NEEDED || entries[i].d_un.d_val > INT32_MAX) continue;
        read_text(elf->fd, names + (off_t)entries[i].d_un.d_val, library, sizeof(library));
        if (executable_comes_first(library)) snprintf(out, bytes, "%.*s", (int)bytes - 1, library);
    }
    free(entries);
}

static void read_elf(int fd, const Elf64_Ehdr *header, struct executable *out)
{
    struct elf elf = {.fd = fd};
    if (header->e_ident[EI_CLASS] != ELFCLASS64) out->obstacle = "is not a 64-bit program";
    if (out->obstacle || !read_segments(&elf, header)) return;
    const Elf64_Phdr *loader = segment_of(&elf, PT_INTERP);
    if (!loader) {
        out->obstacle = "is statically linked";
        return;
    }
    read_text(fd, (off_t)loader->p_offset, out->loader, sizeof(out->loader));
    out->is_musl = strstr(out->loader, "ld-musl") != NULL;
    if (out->is_musl) out->obstacle = "is linked with musl, and libsluice.so needs glibc";
    find_first(&elf, out->first, sizeof(out->first));
}

/* The command of the first line of a script, for `env` the one that it runs. */
static bool interpreter_of(const char *line, char command[SCRIPT_LINE])
{
    char words[2][SCRIPT_LINE] = {"", ""};
    if (strncmp(line, "#!", 2) != 0 || sscanf(line + 2, " %255s %255s", words[0], words[1]) < 1) return false;
    const char *slash = strrchr(words[0], '/');
    bool by_env = slash && !strcmp(slash, "/env") && words[1][0] && words[1][0] != '-';
    memcpy(command, words[by_env], SCRIPT_LINE);
    return true;
}

static void read_file(const char *command, int depth, struct executable *out)
{
    char path[PATH_MAX], start[SCRIPT_LINE], interpreter[SCRIPT_LINE];
    struct stat at;
    Elf64_Ehdr header;
    int fd = executable_find(command, path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    bool is_elf =
        pread(fd, &header, sizeof(header), 0) == sizeof(header) && !memcmp(header.e_ident, ELFMAG, SELFMAG);
    snprintf(out->path, sizeof(out->path), "%s", path);
    read_text(fd, 0, start, sizeof(start));
    /* the dynamic linker ignores paths in LD_PRELOAD if the program is privileged */
    if (fstat(fd, &at) == 0 && (at.st_mode & S_ISUID) && at.st_uid != geteuid())
        out->obstacle = "is a setuid program";
    else if (is_elf)
        read_elf(fd, &header, out);
    close(fd);
    if (!is_elf && !out->obstacle && depth < SCRIPT_DEPTH && interpreter_of(start, interpreter))
        read_file(interpreter, depth + 1, out);
}

void executable_read(const char *command, struct executable *out)
{
    memset(out, 0, sizeof(*out));
    read_file(command, 0, out);
}
