/* Symbols of an object file at a path that a trace names. The file is read only if it is a regular file, and
 * never written. No other file is read except its debug file under /usr/lib/debug. */
#ifndef SLUICE_TOOL_SYMBOL_FILE_H
#define SLUICE_TOOL_SYMBOL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_file;

/* Whether this build can read object files. */
bool symbol_files_are_read(void);

/* The object at `path`, if its build id begins with the 16 bytes of `build_id`. NULL: *remark is a short
 * reason with static lifetime. */
struct symbol_file *symbol_file_open(const char *path, const uint64_t build_id[2], const char **remark);
void symbol_file_close(struct symbol_file *file); /* accepts NULL */

/* The linker's name of the function at `address` (an address of the file); NULL: unknown. Valid while the
 * file is open. */
const char *symbol_file_function(struct symbol_file *file, uint64_t address);

/* The source of an address: its line and, for inlined functions, the line of each call. Texts are valid while
 * the file is open. */
struct source_line {
    const char
        *function; /* the linker's or the programmer's name; NULL in the last one: the enclosing function */
    const char *source;
    unsigned line;
};

/* Innermost first, at most `room`. Returns their number; 0: unknown. */
size_t symbol_file_lines(struct symbol_file *file, uint64_t address, struct source_line lines[], size_t room);

#endif
