/* What an object file says of its code. The file is whatever lies at a path that a trace names: it is read
 * only if it is a regular file, never written to, and never asked for more than its own bytes and those of
 * its debug file under /usr/lib/debug. */
#ifndef SLUICE_TOOL_SYMBOL_FILE_H
#define SLUICE_TOOL_SYMBOL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_file;

/* Whether this build can read object files at all. */
bool symbol_files_are_read(void);

/* The object at `path`, if its build id begins with the 16 bytes of `build_id`. NULL: *remark says why not,
 * in a few words that live as long as the program. */
struct symbol_file *symbol_file_open(const char *path, const uint64_t build_id[2], const char **remark);
void symbol_file_close(struct symbol_file *file); /* accepts NULL */

/* The function that `address`, counted as in the file, lies in, as the linker names it; NULL: not known.
 * Lives as long as the file is open. */
const char *symbol_file_function(struct symbol_file *file, uint64_t address);

/* Where `address` comes from: the line, and where compilers put functions into one another the line that it
 * was called from, and so on. Texts live as long as the file is open. */
struct source_line {
    const char
        *function; /* as the linker or the programmer names it; NULL in the last: the one around them */
    const char *source;
    unsigned line;
};

/* The innermost first, at most `room`. Returns their number; 0: not known. */
size_t symbol_file_lines(struct symbol_file *file, uint64_t address, struct source_line lines[], size_t room);

#endif
