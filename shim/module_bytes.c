#include "module_bytes.h"

#include <ctype.h>
#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define LARGEST (UINT64_C(1) << 47)

static uint64_t product(uint64_t one, uint64_t other)
{
    uint64_t bytes;
    return __builtin_mul_overflow(one, other, &bytes) || bytes > LARGEST ? LARGEST : bytes;
}

static bool begins(const char *text, const char *word)
{
    size_t length = strlen(word);
    return strncmp(text, word, length) == 0 && !isalnum((unsigned char)text[length]) && text[length] != '_';
}

/* Of a declaration such as .align 4 .v2 .u32 name[10][20] = ...; whatever follows .global. */
static uint64_t variable_bytes(const char *at)
{
    uint64_t bytes = 0, vector = 1;
    for (; *at && *at != ';' && *at != '=' && *at != '{' && *at != '}'; at++) {
        if (begins(at, ".managed")) return 0; /* unified memory */
        if (begins(at, ".v2")) vector = 2;
        if (begins(at, ".v4")) vector = 4;
        if (*at == '.' && strchr("bsuf", at[1]) && at[1] && isdigit((unsigned char)at[2]))
            bytes = strtoull(at + 2, NULL, 10) / 8;
        if (*at == '[') bytes = product(bytes, strtoull(at + 1, NULL, 10));
    }
    return product(bytes, vector);
}

/* Instructions have .global in the middle of a word. */
static uint64_t ptx_bytes(const char *text)
{
    uint64_t bytes = 0;
    for (const char *at = text; (at = strstr(at, ".global")); at += 7) {
        bool is_word = (at == text || isspace((unsigned char)at[-1])) && isspace((unsigned char)at[7]);
        bool elsewhere = at - text >= 8 && strncmp(at - 8, ".extern", 7) == 0;
        if (is_word && !elsewhere) bytes += variable_bytes(at + 7);
        if (bytes > LARGEST) return LARGEST;
    }
    return bytes;
}

/* An image does not say how long it is, and a damaged one may say anything of where its sections are: so the
 * kernel reads it. */
static bool read_image(const unsigned char *at, void *out, size_t bytes)
{
    struct iovec from = {(void *)at, bytes}, to = {out, bytes};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)bytes;
}

static uint64_t elf_bytes(const unsigned char *image)
{
    Elf64_Ehdr head;
    Elf64_Shdr sections[64];
    uint64_t bytes = 0;
    if (!read_image(image, &head, sizeof head) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_shentsize != sizeof *sections || !head.e_shoff)
        return 0;
    for (unsigned first = 0, count; first < head.e_shnum; first += count) {
        count = head.e_shnum - first < 64 ? head.e_shnum - first : 64;
        if (!read_image(image + head.e_shoff + first * sizeof *sections, sections, count * sizeof *sections))
            return 0;
        for (unsigned s = 0; s < count; s++)
            if (sections[s].sh_flags & SHF_ALLOC && sections[s].sh_size < LARGEST)
                bytes += sections[s].sh_size;
        if (bytes > LARGEST) return LARGEST;
    }
    return bytes;
}

uint64_t sl_module_bytes(const void *image)
{
    const unsigned char *at = image;
    if (!image) return 0;
    while (isspace(*at)) at++;
    if (*at == '.' || *at == '/') return ptx_bytes(image);
    return strncmp(image, ELFMAG, SELFMAG) == 0 ? elf_bytes(image) : 0; /* reads no further than they agree */
}
