#include "tools/views/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "tools/export/chrome.h"
#include "tools/export/export.h"
#include "tools/export/perfetto.h"
#include "tools/text/command_line.h"
#include "tools/text/json.h"
#include "tools/text/messages.h"
#include "tools/text/output_file.h"
#include "tools/text/terminal.h"
#include "tools/views/job.h"

static bool is_standard_output(const char *path)
{
    return !strcmp(path, "-");
}

/* Removes a partly written file, which is useless. */
static int cannot_write(const char *out, int error)
{
    struct stat file;
    if (!is_standard_output(out) && stat(out, &file) == 0 && S_ISREG(file.st_mode)) unlink(out);
    return failure("cannot write %s: %s", out, strerror(error));
}

/* A file with tracks. `chrome`: for Chrome and PyTorch, else for Perfetto. */
struct tracks_file {
    const char *out;
    bool chrome;
    struct chrome_file *with; /* NULL: nothing is merged */
};

static bool write_tracks(const struct tracks_file *file, const struct export_job *job, FILE *to,
                         struct export_counts *counts)
{
    if (file->chrome) return export_chrome(job, to, file->with, counts);
    errno = ENOMEM;
    return export_perfetto(job, to, counts);
}

static int write_file(const struct tracks_file *file, const struct export_job *job,
                      struct export_counts *counts, uint64_t *bytes)
{
    static const struct sl_file_kind kinds[] = {SL_FILE_KIND("not an export of sluice", PERFETTO_MARKER),
                                                SL_FILE_KIND("not an export of sluice", CHROME_MARKER)};
    const struct sl_file_kind *kind = &kinds[file->chrome];
    bool standard = is_standard_output(file->out);
    FILE *to = standard ? stdout : output_open(file->out, kind);
    if (!to) return failure("cannot write %s: %s", file->out, sl_file_problem(kind, errno));
    bool good = write_tracks(file, job, to, counts);
    int reason = errno;
    bool written = fflush(to) == 0 && !ferror(to);
    int error = errno;
    off_t end = ftello(to);
    *bytes = end > 0 ? (uint64_t)end : 0;
    if (!standard && fclose(to) != 0 && written) written = false, error = errno;
    if (!written) return cannot_write(file->out, error);
    if (good) return EXIT_OK;
    if (!standard) unlink(file->out);
    return failure("trace export: %s", reason == ENOMEM ? "out of memory" : strerror(reason));
}

static void tell(const struct tracks_file *file, const struct export_counts *counts, uint64_t bytes,
                 bool as_json)
{
    char text[SL_BYTES_TEXT];
    if (!as_json) {
        printf("%s: %" PRIu64 " slices, %" PRIu64 " moments, %" PRIu64
               " counter samples (%s); open it with ui.perfetto.dev\n",
               file->out, counts->slices, counts->moments, counts->samples, sl_bytes_text(bytes, text));
        return;
    }
    struct json json = {.to = stdout};
    json_object(&json, NULL, true);
    json_text(&json, "format", file->chrome ? "chrome" : "perfetto");
    json_number(&json, "bytes", bytes);
    json_number(&json, file->chrome ? "events" : "packets", counts->packets);
    json_number(&json, "slices", counts->slices);
    json_number(&json, "moments", counts->moments);
    json_number(&json, "samples", counts->samples);
    json_close(&json);
}

/* Finds the phases, and the time of the requested training step, from 1; 0: all. */
static int prepare(struct export_rank *rank, const char *path, uint64_t step)
{
    const struct model *model = rank->model;
    if (!phases_find(model, &rank->phases)) return failure("%s: out of memory", path);
    if (step > rank->phases.step_count)
        return usage_error("trace export: there is no iteration %" PRIu64 "; %s has %" PRIu32, step, path,
                           rank->phases.step_count);
    rank->window = (struct export_window){0, UINT64_MAX};
    if (!step) return EXIT_OK;
    const struct step *range = &rank->phases.steps[step - 1];
    rank->window.from_ns = model->launches.at[range->begin].time_ns;
    if (range->end < model->launches.count) rank->window.to_ns = model->launches.at[range->end].time_ns;
    return EXIT_OK;
}

/* Writes the traces of a job to one file. */
static int write_job(const struct job *job, const struct tracks_file *file, uint64_t step, bool as_json)
{
    struct export_rank *ranks = calloc(job->count, sizeof(*ranks));
    struct export_counts counts = {0};
    uint64_t bytes = 0;
    int status = ranks ? EXIT_OK : failure("trace export: out of memory");
    for (size_t r = 0; r < job->count && status == EXIT_OK; r++) {
        ranks[r].model = job->models[r];
        ranks[r].number = job->numbers[r];
        status = prepare(&ranks[r], job->paths[r], step);
    }
    const struct export_job parts = {ranks, job->count, &job->meetings, job->clocks};
    if (status == EXIT_OK) status = write_file(file, &parts, &counts, &bytes);
    if (status == EXIT_OK && !is_standard_output(file->out)) tell(file, &counts, bytes, as_json);
    if (status == EXIT_OK && job->count > 1) status = job_check(job);
    for (size_t r = 0; ranks && r < job->count; r++) phases_free(&ranks[r].phases);
    free(ranks);
    return status;
}

static int to_tracks(struct job *job, const struct tracks_file *file, uint64_t step, bool as_json)
{
    const char *out = file->out;
    for (size_t r = 0; r < job->count; r++)
        if (output_is_same_file(job->paths[r], out))
            return usage_error("trace export: %s is %s itself", out,
                               job->count > 1 ? "one of the traces" : "the trace");
    if (is_standard_output(out) && is_terminal(stdout))
        return usage_error("trace export: standard output is a terminal; name a file");
    int status = job_open(job);
    if (status == EXIT_OK) status = write_job(job, file, step, as_json);
    return job_close(job, status);
}

/* The same for Chrome, with the file `path` of PyTorch's profiler, if it is not NULL. */
static int to_chrome(struct job *job, const char *out, const char *path, uint64_t step, bool as_json)
{
    struct chrome_file with = {0};
    struct tracks_file file = {.out = out, .chrome = true, .with = path ? &with : NULL};
    if (path && output_is_same_file(path, out))
        return usage_error("trace export: %s is the file of --with itself", out);
    const char *problem = path ? chrome_file_open(path, &with) : NULL;
    if (problem) return failure("--with: %s: %s", path, problem);
    int status = to_tracks(job, &file, step, as_json);
    chrome_file_close(&with);
    return status;
}

static int to_csv(const char *path, const char *folder, bool as_json)
{
    uint64_t records = UINT64_MAX;
    int status = export_csv(path, folder, &records);
    if (records == UINT64_MAX) return status;
    if (as_json) {
        struct json json = {.to = stdout};
        json_object(&json, NULL, true);
        json_text(&json, "format", "csv");
        json_number(&json, "records", records);
        json_close(&json);
    } else {
        printf("%s: tables of %" PRIu64 " records\n", folder, records);
    }
    return status;
}

int trace_export(int argc, char **argv)
{
    const char *perfetto = NULL, *chrome = NULL, *with = NULL, *csv = NULL;
    uint64_t step = 0;
    bool json = false, force = false;
    const struct command_option options[] = {
        {"perfetto", OPTION_TEXT, &perfetto, "OUT",
         "Write the file OUT for ui.perfetto.dev. It has tracks for the launches of each stream, the "
         "transfers in each direction of the link, iterations, phases, marks, stalls, waits and errors, and "
         "counters for the device memory in use and the bytes allocated. A launch without a measured time "
         "extends to the next launch of its stream, or until the program had waited for it; its note "
         "`length` shows which. OUT may be - for standard output. Of several ranks, each is a process with "
         "its collectives, which arrows connect, and with its waits for each other rank; all are on the "
         "clock of the first rank."},
        {"chrome", OPTION_TEXT, &chrome, "OUT",
         "Write the same tracks to OUT as a Chrome trace (JSON), on the clock of PyTorch's profiler, and the "
         "launches once more beside the thread that made them. Arrows are left out."},
        {"with", OPTION_TEXT, &with, "FILE",
         "With --chrome: OUT also has all of FILE, which torch.profiler's export_chrome_trace wrote in the "
         "same run."},
        {"csv", OPTION_TEXT, &csv, "FOLDER",
         "Write FOLDER/launch.csv, FOLDER/move.csv and so on: a table for each type of record, with the "
         "fields that trace dump prints, and FOLDER/trace.csv with the properties of the whole trace. Times "
         "are nanoseconds since the trace began."},
        {"iteration", OPTION_NUMBER, &step, "N",
         "With --perfetto or --chrome: only the part that overlaps the Nth training step, counted from 1."},
        {"force", OPTION_SWITCH, &force, .help = FORCE_HELP},
        {"json", OPTION_SWITCH, &json, .help = "Print a summary of the export as JSON."},
    };
    const struct command_syntax syntax = {
        .name = "trace export",
        .synopsis = "--perfetto OUT|--chrome OUT [--with FILE]|--csv FOLDER [--iteration N] [--force] "
                    "[--json] FILE...",
        .about = "Converts a trace, or with --perfetto or --chrome the traces of all ranks of a job, to a "
                 "format that other programs read.\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    char **paths;
    size_t count;
    int status;
    if (!read_command_line_of_files(&syntax, argc, argv, 1, &paths, &count, &status)) return status;
    if (!!perfetto + !!chrome + !!csv > 1)
        return usage_error(
            "trace export: --perfetto, --chrome and --csv exclude each other; see sluice trace "
            "export --help");
    if (!perfetto && !chrome && !csv)
        return usage_error("trace export: --perfetto OUT, --chrome OUT or --csv FOLDER is needed; see sluice "
                           "trace export --help");
    output_force(force);
    if (with && !chrome) return usage_error("trace export: --with needs --chrome");
    if (csv && step) return usage_error("trace export: --iteration needs --perfetto or --chrome");
    if (csv && count > 1) return usage_error("trace export: --csv takes one file");
    struct job job = {.command = syntax.name, .paths = paths, .count = count};
    if (chrome) return to_chrome(&job, chrome, with, step, json);
    return perfetto ? to_tracks(&job, &(struct tracks_file){.out = perfetto}, step, json)
                    : to_csv(paths[0], csv, json);
}
