/* Pages as files: a page's source with the data in it, written where the user says. */
#ifndef SLUICE_TOOL_PAGE_FILE_H
#define SLUICE_TOOL_PAGE_FILE_H

#include "base/output.h"
#include "tools/report/page_source.h"

/* Refuses what OUT must not be: one of the `count` traces at `paths`, or a terminal. Returns the exit status;
 * errors are on stderr. */
int page_check_out(const char *command, const char *out, char *const *paths, size_t count);

struct page_file {
    const char *command, *out; /* out: "-" for standard output */
    const struct page_source *source;
    struct sl_file_kind kind;
};

/* Writes the page with `data`, one JSON value of `bytes` bytes. A file is replaced as a whole or stays as it
 * is. *written is the size of the page. Returns the exit status; errors are on stderr. */
int page_put(const struct page_file *file, const char *data, size_t bytes, size_t *written);

/* Says on stdout where the page is. */
void page_tell(const struct page_file *file, size_t written);

#endif
