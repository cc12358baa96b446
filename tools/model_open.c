#include "model.h"
#include "tool.h"
#include "trace.h"

int model_open(const char *path, struct model **out)
{
    struct sl_trace_reader *reader;
    int status = open_trace(path, &reader);
    if (status != EXIT_OK) return status;
    if (!model_read(reader, out)) status = failure("%s: out of memory", path);
    sl_trace_reader_close(reader);
    return status;
}
