#include "tools/report/page_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/text/messages.h"
#include "tools/text/output_file.h"
#include "tools/text/terminal.h"

int page_check_out(const char *command, const char *out, char *const *paths, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (output_is_same_file(paths[i], out))
            return usage_error("%s: %s is %s itself", command, out,
                               count > 1 ? "one of the traces" : "the trace");
    if (!strcmp(out, "-") && is_terminal(stdout))
        return usage_error("%s: standard output is a terminal; name a file", command);
    return EXIT_OK;
}

/* In a script element, only < could mean something to HTML. In JSON it occurs in texts only. */
static void put_escaped(FILE *to, const char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (data[i] == '<')
            fputs("\\u003c", to);
        else
            fputc(data[i], to);
    }
}

/* The page is made as a whole before anything is written. */
int page_put(const struct page_file *file, const char *data, size_t bytes, size_t *written)
{
    char *page = NULL;
    size_t page_bytes = 0;
    FILE *to = open_memstream(&page, &page_bytes);
    if (!to) return failure("%s: out of memory", file->command);
    fwrite(file->source->before, 1, file->source->before_bytes, to);
    put_escaped(to, data, bytes);
    fwrite(file->source->after, 1, file->source->after_bytes, to);
    int status = fclose(to) == 0 ? EXIT_OK : failure("%s: out of memory", file->command);
    if (status == EXIT_OK && !strcmp(file->out, "-"))
        fwrite(page, 1, page_bytes, stdout);
    else if (status == EXIT_OK)
        status = output_replace(file->out, &file->kind, page, page_bytes);
    if (status == EXIT_OK) *written = page_bytes;
    free(page);
    return status;
}

void page_tell(const struct page_file *file, size_t written)
{
    char text[SL_BYTES_TEXT];
    printf("%s: %s; open it with a browser\n", file->out, sl_bytes_text(written, text));
}
