/* Reads files of the kernel line by line, without stdio: it would allocate behind the program's back. */
#ifndef SLUICE_TEXT_FILE_H
#define SLUICE_TEXT_FILE_H

#include "base/types.h"

#define SL_LINE_BYTES 8192

struct sl_text_file {
    int file;
    bool cut; /* the line is longer than the buffer, and its rest is skipped */
    size_t begin, end;
    char text[SL_LINE_BYTES]; /* large: not for the stack of a thread of the program */
};

/* Opens the file `name` in `folder`, below `root`; the path is their concatenation. False: it cannot be read.
 */
bool sl_text_open(struct sl_text_file *file, const char *root, const char *folder, const char *name);
/* The next line without its end, valid until the next call. Lines that are too long are left out. False:
 * there are no more. */
bool sl_text_line(struct sl_text_file *file, char **line);
void sl_text_close(struct sl_text_file *file);

/* The number after `key` and blanks at the beginning of a line. False: no such line. */
bool sl_text_number(struct sl_text_file *file, const char *root, const char *folder, const char *name,
                    const char *key, uint64_t *out);

#endif
