#include "cubin.h"

#include <elf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_info.h"

#define MACHINE_CUDA 190
#define ABI_WITH_ARCH_IN_SECOND_BYTE 8
#define SYMBOL_MANAGED 0x04
#define SYMBOL_KERNEL 0x10
#define SECTION_INFO 0x70000000u
/* From sm_90 on the shared memory of each kernel begins with what the system has reserved. It is not the
 * kernel's own. */
#define ARCH_WITH_RESERVED_SHARED 90
#define RESERVED_SHARED_BYTES 1024u
#define NONE UINT32_MAX

/* One reading. */
struct reader {
    const unsigned char *data;
    size_t bytes;
    Elf64_Shdr *sections;
    uint32_t section_count, names; /* `names`: the section with the sections' names */
    size_t symbols, symbol_count;  /* `symbols`: offset of the first one */
    uint32_t symbol_names;         /* the section with them */
    uint32_t *kernel_of;           /* by section of code; NONE: of no kernel */
    struct sc_cubin cubin;
    char *why;
    size_t why_bytes;
};

static enum sc_cubin_status corrupt(const struct reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static enum sc_cubin_status corrupt(const struct reader *reader, const char *format, ...)
{
    if (!reader->why_bytes) return SC_CUBIN_CORRUPT;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reader->why, reader->why_bytes, format, arguments);
    va_end(arguments);
    return SC_CUBIN_CORRUPT;
}

static enum sc_cubin_status no_memory(const struct reader *reader)
{
    if (reader->why_bytes) snprintf(reader->why, reader->why_bytes, "cubin: no memory for its tables");
    return SC_CUBIN_NO_MEMORY;
}

static bool lies_within(uint64_t offset, uint64_t length, size_t bytes)
{
    return offset <= bytes && length <= bytes - offset;
}

static bool read_header(const void *data, size_t bytes, Elf64_Ehdr *out)
{
    if (bytes < sizeof *out) return false;
    memcpy(out, data, sizeof *out);
    return !memcmp(out->e_ident, ELFMAG, SELFMAG) && out->e_ident[EI_CLASS] == ELFCLASS64 &&
           out->e_ident[EI_DATA] == ELFDATA2LSB && out->e_shentsize == sizeof(Elf64_Shdr) && out->e_shnum &&
           lies_within(out->e_shoff, (uint64_t)out->e_shnum * sizeof(Elf64_Shdr), bytes);
}

size_t sc_cubin_bytes(const void *data, size_t readable)
{
    Elf64_Ehdr header;
    if (!read_header(data, readable, &header)) return 0;
    size_t end = (size_t)header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr);
    if (!lies_within(header.e_phoff, (uint64_t)header.e_phnum * header.e_phentsize, readable)) return 0;
    size_t segments = (size_t)header.e_phoff + (size_t)header.e_phnum * header.e_phentsize;
    if (segments > end) end = segments;
    for (uint32_t i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section;
        memcpy(&section, (const char *)data + header.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL) continue;
        if (!lies_within(section.sh_offset, section.sh_size, readable)) return 0;
        if (section.sh_offset + section.sh_size > end) end = section.sh_offset + section.sh_size;
    }
    return end;
}

/* The string at `offset` of a section, or NULL if it does not end within it. */
static const char *string_at(const struct reader *reader, uint32_t section, uint32_t offset)
{
    const Elf64_Shdr *strings = &reader->sections[section];
    if (strings->sh_type != SHT_STRTAB || offset >= strings->sh_size) return NULL;
    const unsigned char *at = reader->data + strings->sh_offset + offset;
    return memchr(at, '\0', strings->sh_size - offset) ? (const char *)at : NULL;
}

static const char *section_name(const struct reader *reader, uint32_t section)
{
    const char *name = string_at(reader, reader->names, reader->sections[section].sh_name);
    return name ? name : "";
}

static bool begins_with(const char *text, const char *beginning)
{
    return !strncmp(text, beginning, strlen(beginning));
}

static enum sc_cubin_status read_sections(struct reader *reader)
{
    Elf64_Ehdr header;
    if (!read_header(reader->data, reader->bytes, &header))
        return corrupt(reader, "cubin: no 64-bit ELF header with sections at offset 0");
    if (header.e_machine != MACHINE_CUDA)
        return corrupt(reader, "cubin: machine %u at offset %zu, which is no GPU", header.e_machine,
                       offsetof(Elf64_Ehdr, e_machine));
    if (header.e_shstrndx >= header.e_shnum)
        return corrupt(reader, "cubin: section %u of %u at offset %zu", header.e_shstrndx, header.e_shnum,
                       offsetof(Elf64_Ehdr, e_shstrndx));
    reader->cubin.arch = header.e_ident[EI_ABIVERSION] >= ABI_WITH_ARCH_IN_SECOND_BYTE
                             ? header.e_flags >> 8 & 0xff
                             : header.e_flags & 0xff;
    reader->section_count = header.e_shnum;
    reader->names = header.e_shstrndx;
    reader->sections = malloc(header.e_shnum * sizeof *reader->sections);
    reader->kernel_of = malloc(header.e_shnum * sizeof *reader->kernel_of);
    if (!reader->sections || !reader->kernel_of) return no_memory(reader);
    memcpy(reader->sections, reader->data + header.e_shoff, header.e_shnum * sizeof *reader->sections);
    for (uint32_t i = 0; i < reader->section_count; i++) {
        const Elf64_Shdr *section = &reader->sections[i];
        reader->kernel_of[i] = NONE;
        if (section->sh_type == SHT_NOBITS || section->sh_type == SHT_NULL) continue;
        if (!lies_within(section->sh_offset, section->sh_size, reader->bytes))
            return corrupt(reader, "cubin: section %u is said to have %llu bytes at offset %llu of %zu", i,
                           (unsigned long long)section->sh_size, (unsigned long long)section->sh_offset,
                           reader->bytes);
    }
    return SC_CUBIN_OK;
}

static enum sc_cubin_status find_symbols(struct reader *reader)
{
    for (uint32_t i = 0; i < reader->section_count; i++) {
        const Elf64_Shdr *section = &reader->sections[i];
        if (section->sh_type != SHT_SYMTAB) continue;
        if (section->sh_link >= reader->section_count)
            return corrupt(reader, "cubin: the symbols at offset %llu have their names in section %u of %u",
                           (unsigned long long)section->sh_offset, section->sh_link, reader->section_count);
        reader->symbols = section->sh_offset;
        reader->symbol_count = section->sh_size / sizeof(Elf64_Sym);
        reader->symbol_names = section->sh_link;
        return SC_CUBIN_OK;
    }
    return corrupt(reader, "cubin: none of its %u sections has symbols", reader->section_count);
}

static Elf64_Sym symbol_at(const struct reader *reader, size_t index)
{
    Elf64_Sym symbol;
    memcpy(&symbol, reader->data + reader->symbols + index * sizeof symbol, sizeof symbol);
    return symbol;
}

static bool is_kernel(const struct reader *reader, const Elf64_Sym *symbol)
{
    return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && (symbol->st_other & SYMBOL_KERNEL) &&
           symbol->st_shndx != SHN_UNDEF && symbol->st_shndx < reader->section_count;
}

/* Constant memory has several banks; variables of the program lie in the third. */
static bool is_variable(const struct reader *reader, const Elf64_Sym *symbol)
{
    if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || !symbol->st_size || symbol->st_shndx == SHN_UNDEF ||
        symbol->st_shndx >= reader->section_count)
        return false;
    const char *section = section_name(reader, symbol->st_shndx);
    return begins_with(section, ".nv.global") || !strcmp(section, ".nv.constant3");
}

static enum sc_cubin_status take_variable(struct reader *reader, const Elf64_Sym *symbol, const char *name)
{
    const Elf64_Shdr *section = &reader->sections[symbol->st_shndx];
    if (!lies_within(symbol->st_value, symbol->st_size, section->sh_size))
        return corrupt(reader, "cubin: variable %.100s of %llu bytes lies outside its section at offset %llu",
                       name, (unsigned long long)symbol->st_size, (unsigned long long)section->sh_offset);
    const bool zeros = section->sh_type == SHT_NOBITS || section->sh_type == SHT_NULL;
    struct sc_cubin_variable *variable = &reader->cubin.variables[reader->cubin.variable_count++];
    *variable = (struct sc_cubin_variable){
        .name = name,
        .initial = zeros ? NULL : reader->data + section->sh_offset + symbol->st_value,
        .bytes = symbol->st_size,
        .managed = (symbol->st_other & SYMBOL_MANAGED) != 0,
        .constant = begins_with(section_name(reader, symbol->st_shndx), ".nv.constant"),
    };
    if (variable->constant) reader->cubin.constant_bytes += variable->bytes;
    return SC_CUBIN_OK;
}

static void take_kernel(struct reader *reader, const Elf64_Sym *symbol, const char *name)
{
    struct sc_cubin *cubin = &reader->cubin;
    reader->kernel_of[symbol->st_shndx] = (uint32_t)cubin->kernel_count;
    cubin->kernels[cubin->kernel_count++] = (struct sc_cubin_kernel){.name = name, .max_threads = 1024};
}

static enum sc_cubin_status take_symbols(struct reader *reader)
{
    size_t kernels = 0, variables = 0;
    for (size_t i = 0; i < reader->symbol_count; i++) {
        const Elf64_Sym symbol = symbol_at(reader, i);
        kernels += is_kernel(reader, &symbol);
        variables += is_variable(reader, &symbol);
    }
    reader->cubin.kernels = calloc(kernels + 1, sizeof *reader->cubin.kernels);
    reader->cubin.variables = calloc(variables + 1, sizeof *reader->cubin.variables);
    if (!reader->cubin.kernels || !reader->cubin.variables) return no_memory(reader);
    for (size_t i = 0; i < reader->symbol_count; i++) {
        const Elf64_Sym symbol = symbol_at(reader, i);
        const bool kernel = is_kernel(reader, &symbol);
        if (!kernel && !is_variable(reader, &symbol)) continue;
        const char *name = string_at(reader, reader->symbol_names, symbol.st_name);
        if (!name)
            return corrupt(reader, "cubin: the symbol at offset %zu has no name",
                           reader->symbols + i * sizeof symbol);
        if (kernel)
            take_kernel(reader, &symbol, name);
        else if (take_variable(reader, &symbol, name))
            return SC_CUBIN_CORRUPT;
    }
    return SC_CUBIN_OK;
}

/* The kernel whose code the section is about, or NULL. */
static struct sc_cubin_kernel *kernel_about(const struct reader *reader, const Elf64_Shdr *section)
{
    const uint32_t code = section->sh_info;
    const uint32_t kernel = code < reader->section_count ? reader->kernel_of[code] : NONE;
    return kernel == NONE ? NULL : &reader->cubin.kernels[kernel];
}

static struct sc_cubin_kernel *kernel_of_symbol(void *context, uint32_t index)
{
    const struct reader *reader = context;
    if (index >= reader->symbol_count) return NULL;
    const Elf64_Sym symbol = symbol_at(reader, index);
    if (!is_kernel(reader, &symbol)) return NULL;
    return &reader->cubin.kernels[reader->kernel_of[symbol.st_shndx]];
}

static uint32_t own_shared_bytes(const struct reader *reader, uint64_t bytes)
{
    if (reader->cubin.arch >= ARCH_WITH_RESERVED_SHARED && bytes >= RESERVED_SHARED_BYTES)
        bytes -= RESERVED_SHARED_BYTES;
    return bytes < INT32_MAX ? (uint32_t)bytes : INT32_MAX;
}

static enum sc_cubin_status take_kernel_tables(struct reader *reader)
{
    for (uint32_t i = 0; i < reader->section_count; i++) {
        const Elf64_Shdr *section = &reader->sections[i];
        const char *name = section_name(reader, i);
        struct sc_cubin_kernel *kernel = kernel_about(reader, section);
        if (kernel && section->sh_type == SHT_NOBITS && begins_with(name, ".nv.shared."))
            kernel->static_shared_bytes = own_shared_bytes(reader, section->sh_size);
        if (section->sh_type != SECTION_INFO) continue;
        const struct sc_info_table table = {reader->data + section->sh_offset, (size_t)section->sh_size};
        enum sc_info_status status = SC_INFO_OK;
        size_t at = 0;
        if (!strcmp(name, ".nv.info"))
            status = sc_info_of_all(&table, kernel_of_symbol, reader, &at);
        else if (kernel && begins_with(name, ".nv.info."))
            status = sc_info_of_kernel(&table, kernel, &at);
        if (status == SC_INFO_NO_MEMORY) return no_memory(reader);
        if (status != SC_INFO_OK)
            return corrupt(reader, "cubin: %s at offset %llu of section %.100s",
                           status == SC_INFO_CUT ? "an attribute is cut off"
                                                 : "parameters are not where they can be",
                           (unsigned long long)section->sh_offset + at, name);
    }
    return SC_CUBIN_OK;
}

enum sc_cubin_status sc_cubin_read(unsigned char *data, size_t bytes, struct sc_cubin *out, char *why,
                                   size_t why_bytes)
{
    struct reader reader = {.data = data, .bytes = bytes, .why = why, .why_bytes = why_bytes};
    enum sc_cubin_status status = read_sections(&reader);
    if (!status) status = find_symbols(&reader);
    if (!status) status = take_symbols(&reader);
    if (!status) status = take_kernel_tables(&reader);
    free(reader.sections);
    free(reader.kernel_of);
    if (status) {
        sc_cubin_free(&reader.cubin);
        return status;
    }
    reader.cubin.data = data;
    *out = reader.cubin;
    return SC_CUBIN_OK;
}

void sc_cubin_free(struct sc_cubin *cubin)
{
    for (size_t i = 0; i < cubin->kernel_count; i++) free(cubin->kernels[i].parameters);
    free(cubin->kernels);
    free(cubin->variables);
    free(cubin->data);
    *cubin = (struct sc_cubin){0};
}
