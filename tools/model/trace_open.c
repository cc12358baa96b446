#include "tools/model/trace_open.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "tools/text/file_kind.h"
#include "tools/text/messages.h"

int open_trace(const char *path, struct sl_trace_reader **out)
{
    struct sl_trace_problem problem;
    enum sl_status status = sl_trace_reader_open(path, out, &problem);
    if (status == SL_OK) return EXIT_OK;
    struct stat file;
    if (status == SL_ERR_IO && stat(path, &file) == 0 && S_ISFIFO(file.st_mode))
        return failure("%s: is a pipe; a trace with a limit cannot be read from a pipe", path);
    const char *kind = status == SL_ERR_FORMAT ? other_file_kind(path, SLUICE_TRACE_MAGIC) : "";
    if (!strcmp(problem.text, SL_TRACE_NO_TRACE) && !*kind) kind = "; sluice run --trace FILE records one";
    return failure("%s: %s%s", path, problem.text, kind);
}

int end_status(const char *path, const struct sl_trace_problem *problem)
{
    if (problem->status == SL_OK) return EXIT_OK;
    int status = failure("%s: at byte %" PRIu64 ": %s", path, problem->offset, problem->text);
    return problem->status == SL_ERR_TRUNCATED ? EXIT_OK : status;
}

struct program_name program_name(const struct sluice_trace_header *header)
{
    struct program_name name;
    memcpy(name.text, header->program, sizeof(name.text));
    sl_defuse(name.text);
    return name;
}
