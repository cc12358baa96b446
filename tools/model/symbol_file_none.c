/* Without libdw, no object file is read. */
#include "tools/model/symbol_file.h"

bool symbol_files_are_read(void)
{
    return false;
}

struct symbol_file *symbol_file_open(const char *path, const uint64_t build_id[2], const char **remark)
{
    (void)path, (void)build_id;
    *remark = "this sluice was built without libdw";
    return NULL;
}

void symbol_file_close(struct symbol_file *file)
{
    (void)file;
}

const char *symbol_file_function(struct symbol_file *file, uint64_t address)
{
    (void)file, (void)address;
    return NULL;
}

size_t symbol_file_lines(struct symbol_file *file, uint64_t address, struct source_line lines[], size_t room)
{
    (void)file, (void)address, (void)lines, (void)room;
    return 0;
}
