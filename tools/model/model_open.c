#include "tools/model/model.h"
#include "tools/model/trace_open.h"
#include "tools/text/messages.h"

int model_open(const char *path, struct model **out)
{
    struct sl_trace_reader *reader;
    int status = open_trace(path, &reader);
    if (status != EXIT_OK) return status;
    struct progress progress;
    progress_start_file(&progress, path);
    bool read = model_read(reader, &progress, out);
    progress_end(&progress);
    if (!read) status = failure("%s: out of memory", path);
    sl_trace_reader_close(reader);
    return status;
}
