#include "tools/model/symbol_file.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEBUG_FOLDER "/usr/lib/debug/.build-id"

struct function {
    uint64_t start, end;
    const char *name;
};

struct symbol_file {
    Dwfl *dwfl;
    Dwfl_Module *module;
    struct function *functions; /* sorted by start */
    size_t function_count;
    bool has_lines;
};

bool symbol_files_are_read(void)
{
    return true;
}

/* Checks the file before it is opened, because opening a device may have side effects. Files whose reading
 * may have side effects, such as those in /proc, have size 0. */
static int open_regular(const char *path, const char **remark)
{
    char again[32];
    struct stat file;
    int fd = -1, found = open(path, O_PATH | O_CLOEXEC);
    if (found < 0)
        *remark = errno == ENOENT || errno == ENOTDIR ? "the file is gone" : "the file cannot be opened";
    else if (fstat(found, &file) || !S_ISREG(file.st_mode) || !file.st_size)
        *remark = "it is not a regular file";
    else {
        snprintf(again, sizeof(again), "/proc/self/fd/%d", found);
        fd = open(again, O_RDONLY | O_CLOEXEC);
        if (fd < 0) *remark = "the file cannot be read";
    }
    if (found >= 0) close(found);
    return fd;
}

/* Searches the places where distributions put debug files. Ignores other places: the file itself may name
 * them, or they may be in the network. */
static int find_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                           const char *file, const char *link, GElf_Word checksum, char **out)
{
    const unsigned char *id;
    GElf_Addr address;
    char path[sizeof(DEBUG_FOLDER) + 2 * 64 + 16], *at = path;
    const char *remark;
    int bytes = dwfl_module_build_id(module, &id, &address);
    (void)data, (void)name, (void)base, (void)file, (void)link, (void)checksum;
    if (bytes < 2 || bytes > 64) return -1;
    at += sprintf(at, DEBUG_FOLDER "/%02x/", id[0]);
    for (int i = 1; i < bytes; i++) at += sprintf(at, "%02x", id[i]);
    strcpy(at, ".debug");
    int fd = open_regular(path, &remark);
    if (fd >= 0) *out = strdup(path);
    return fd;
}

static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = find_debug_file,
    .section_address = dwfl_offline_section_address,
};

static bool has_build_id(Dwfl_Module *module, const uint64_t wanted[2])
{
    const unsigned char *id;
    GElf_Addr address;
    uint64_t first[2] = {0};
    int bytes = dwfl_module_build_id(module, &id, &address);
    if (bytes > 0) memcpy(first, id, (size_t)bytes < sizeof(first) ? (size_t)bytes : sizeof(first));
    return bytes > 0 && first[0] == wanted[0] && first[1] == wanted[1];
}

static int by_start(const void *one, const void *other)
{
    const struct function *a = one, *b = other;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void list_functions(struct symbol_file *file)
{
    int count = dwfl_module_getsymtab(file->module);
    if (count <= 0) return;
    file->functions = calloc((size_t)count, sizeof(*file->functions));
    for (int i = 1; file->functions && i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        const char *name = dwfl_module_getsym_info(file->module, i, &symbol, &address, NULL, NULL, NULL);
        unsigned type = GELF_ST_TYPE(symbol.st_info);
        if (!name || !*name || (type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF)
            continue;
        file->functions[file->function_count++] = (struct function){address, address + symbol.st_size, name};
    }
    if (file->function_count)
        qsort(file->functions, file->function_count, sizeof(*file->functions), by_start);
}

/* Ignores the lines if part of them is in another file: libdw would open any file that this one names. */
static bool lines_are_its_own(Dwfl_Module *module)
{
    Dwarf_Addr bias;
    Dwarf *dwarf = dwfl_module_getdwarf(module, &bias);
    const char *name;
    const void *id;
    Dwarf_CU *unit = NULL;
    uint8_t type;
    if (!dwarf || dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id) > 0) return false;
    while (dwarf_get_units(dwarf, unit, &unit, NULL, &type, NULL, NULL) == 0)
        if (type == DW_UT_skeleton) return false;
    return true;
}

struct symbol_file *symbol_file_open(const char *path, const uint64_t build_id[2], const char **remark)
{
    if (!build_id[0] && !build_id[1]) {
        *remark = "it has no build id that identifies the file";
        return NULL;
    }
    int fd = open_regular(path, remark);
    if (fd < 0) return NULL;
    struct symbol_file *file = calloc(1, sizeof(*file));
    *remark = "out of memory";
    if (!file || !(file->dwfl = dwfl_begin(&callbacks))) goto error;
    *remark = "it is not an object file";
    dwfl_report_begin(file->dwfl);
    file->module = dwfl_report_elf(file->dwfl, path, path, fd, 0, true);
    if (!file->module) goto error;
    fd = -1; /* owned by libdwfl */
    if (dwfl_report_end(file->dwfl, NULL, NULL)) goto error;
    *remark = "the file has another build id";
    if (!has_build_id(file->module, build_id)) goto error;
    list_functions(file);
    file->has_lines = lines_are_its_own(file->module);
    *remark = NULL;
    return file;
error:
    if (fd >= 0) close(fd);
    symbol_file_close(file);
    return NULL;
}

void symbol_file_close(struct symbol_file *file)
{
    if (!file) return;
    free(file->functions);
    if (file->dwfl) dwfl_end(file->dwfl);
    free(file);
}

/* Functions may be nested, but not deeply. */
const char *symbol_file_function(struct symbol_file *file, uint64_t address)
{
    size_t low = 0, high = file->function_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (file->functions[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t back = 1; back <= 8 && back <= low; back++)
        if (address < file->functions[low - back].end) return file->functions[low - back].name;
    return NULL;
}

/* The innermost line. */
static bool find_line(struct symbol_file *file, uint64_t address, struct source_line *out)
{
    Dwfl_Line *found = dwfl_module_getsrc(file->module, address);
    int number = 0;
    const char *path = found ? dwfl_lineinfo(found, NULL, &number, NULL, NULL, NULL) : NULL;
    if (!path || number <= 0) return false;
    *out = (struct source_line){.source = path, .line = (unsigned)number};
    return true;
}

static const char *name_of(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *linked = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
    return linked ? linked : dwarf_diename(die);
}

/* The call of the inlined function. */
static bool find_call(Dwarf_Die *unit, Dwarf_Die *inlined, struct source_line *out)
{
    Dwarf_Attribute attribute;
    Dwarf_Files *files;
    Dwarf_Word index, line;
    size_t count;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &index) ||
        dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) ||
        dwarf_getsrcfiles(unit, &files, &count))
        return false;
    const char *path = dwarf_filesrc(files, index, NULL, NULL);
    *out = (struct source_line){.source = path, .line = (unsigned)line};
    return path != NULL;
}

/* Whether `inner`, called by `call`, is a part of the function `whole` that the compiler split off. The debug
 * information then places the call at the start of the function. */
static bool is_part(Dwarf_Die *whole, const char *name, const struct source_line *inner,
                    const struct source_line *call)
{
    int first;
    return name && inner->function && !strcmp(name, inner->function) && !dwarf_decl_line(whole, &first) &&
           (unsigned)first == call->line;
}

/* The scopes of the address as compiled, innermost first. dwarf_getscopes would follow an inlined function to
 * the place where it was written. */
static int enclosing(Dwarf_Die *unit, uint64_t address, Dwarf_Die **out)
{
    Dwarf_Die *written = NULL;
    int count = dwarf_getscopes(unit, address, &written);
    if (count > 0) count = dwarf_getscopes_die(&written[0], out);
    free(written);
    return count;
}

size_t symbol_file_lines(struct symbol_file *file, uint64_t address, struct source_line lines[], size_t room)
{
    Dwarf_Addr bias;
    Dwarf_Die *scopes = NULL;
    size_t count = 1;
    if (!room || !file->has_lines || !find_line(file, address, &lines[0])) return 0;
    Dwarf_Die *unit = dwfl_module_addrdie(file->module, address, &bias);
    int scope_count = unit ? enclosing(unit, address - bias, &scopes) : 0;
    for (int i = 0; i < scope_count && count < room; i++) {
        if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram) break;
        if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine) continue;
        const char *name = name_of(&scopes[i]);
        if (count > 1 && is_part(&scopes[i], name, &lines[count - 2], &lines[count - 1])) count--;
        if (!find_call(unit, &scopes[i], &lines[count])) break;
        lines[count++ - 1].function = name;
    }
    free(scopes);
    return count;
}
