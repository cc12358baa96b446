#include "tools/views/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "tools/export/export.h"
#include "tools/export/perfetto.h"
#include "tools/model/trace_open.h"
#include "tools/text/command_line.h"
#include "tools/text/json.h"
#include "tools/text/messages.h"
#include "tools/text/output_file.h"
#include "tools/text/terminal.h"

static bool is_standard_output(const char *path)
{
    return !strcmp(path, "-");
}

static bool is_same_file(const char *one, const char *other)
{
    struct stat a, b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

struct perfetto_job {
    const char *path;
    const struct model *model;
    struct phases phases;
    struct export_window window;
};

/* A file of which only a part was written is of no use. */
static int cannot_write(const char *out, int error)
{
    struct stat file;
    if (!is_standard_output(out) && stat(out, &file) == 0 && S_ISREG(file.st_mode)) unlink(out);
    return failure("%s: cannot be written: %s", out, strerror(error));
}

static int write_perfetto(const struct perfetto_job *job, const char *out, struct export_counts *counts,
                          uint64_t *bytes)
{
    static const struct sl_file_kind kind = SL_FILE_KIND("no export of sluice's", PERFETTO_MARKER);
    bool standard = is_standard_output(out);
    FILE *to = standard ? stdout : output_open(out, &kind);
    if (!to) return failure("%s: cannot be written: %s", out, sl_file_problem(&kind, errno));
    bool memory = export_perfetto(job->model, &job->phases, job->window, to, counts);
    bool written = fflush(to) == 0 && !ferror(to);
    int error = errno;
    off_t end = ftello(to);
    *bytes = end > 0 ? (uint64_t)end : 0;
    if (!standard && fclose(to) != 0 && written) written = false, error = errno;
    if (!written) return cannot_write(out, error);
    if (memory) return EXIT_OK;
    if (!standard) unlink(out);
    return failure("%s: out of memory", job->path);
}

static void tell_perfetto(const char *out, const struct export_counts *counts, uint64_t bytes, bool as_json)
{
    char text[SL_BYTES_TEXT];
    if (!as_json) {
        printf("%s: %" PRIu64 " slices, %" PRIu64 " moments, %" PRIu64
               " samples of counters (%s); ui.perfetto.dev opens it\n",
               out, counts->slices, counts->moments, counts->samples, sl_bytes_text(bytes, text));
        return;
    }
    struct json json = {.to = stdout};
    json_object(&json, NULL, true);
    json_text(&json, "format", "perfetto");
    json_number(&json, "bytes", bytes);
    json_number(&json, "packets", counts->packets);
    json_number(&json, "slices", counts->slices);
    json_number(&json, "moments", counts->moments);
    json_number(&json, "samples", counts->samples);
    json_close(&json);
}

/* Finds the phases, and when the step of training was that is asked for, from 1; 0: all. */
static int prepare(struct perfetto_job *job, uint64_t step)
{
    const struct model *model = job->model;
    if (!phases_find(model, &job->phases)) return failure("%s: out of memory", job->path);
    if (step > job->phases.step_count)
        return usage_error("trace export: there is no iteration %" PRIu64 "; %s has %" PRIu32, step,
                           job->path, job->phases.step_count);
    job->window = (struct export_window){0, UINT64_MAX};
    if (!step) return EXIT_OK;
    const struct step *range = &job->phases.steps[step - 1];
    job->window.from_ns = model->launches.at[range->begin].time_ns;
    if (range->end < model->launches.count) job->window.to_ns = model->launches.at[range->end].time_ns;
    return EXIT_OK;
}

static int to_perfetto(const char *path, const char *out, uint64_t step, bool as_json)
{
    struct model *model;
    if (is_same_file(path, out)) return usage_error("trace export: %s is the trace itself", out);
    if (is_standard_output(out) && is_terminal(stdout))
        return usage_error("trace export: the standard output is a terminal; name a file");
    int status = model_open(path, &model);
    if (status != EXIT_OK) return status;
    struct perfetto_job job = {.path = path, .model = model};
    struct export_counts counts = {0};
    uint64_t bytes = 0;
    status = prepare(&job, step);
    if (status == EXIT_OK) status = write_perfetto(&job, out, &counts, &bytes);
    if (status == EXIT_OK) {
        if (!is_standard_output(out)) tell_perfetto(out, &counts, bytes, as_json);
        status = end_status(path, &model->problem);
    }
    phases_free(&job.phases);
    model_close(model);
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
    const char *perfetto = NULL, *csv = NULL;
    uint64_t step = 0;
    bool json = false, force = false;
    const struct command_option options[] = {
        {"perfetto", OPTION_TEXT, &perfetto, "OUT",
         "Write the file OUT for ui.perfetto.dev: a track for each stream with the launches, for each\n"
         "direction of the link with the transfers, for iterations, phases, marks, stalls, waits and "
         "errors;\n"
         "memory in use and allocated as counters. A launch lasts as long as was measured; one that was "
         "not,\n"
         "up to the next launch of its stream or until the program had waited for it; its note `length` "
         "says\n"
         "which. OUT may be - for the standard output."},
        {"csv", OPTION_TEXT, &csv, "FOLDER",
         "Write FOLDER/launch.csv, FOLDER/move.csv and so on, a table for each type of record with the\n"
         "fields that trace dump names, and FOLDER/trace.csv with what is said of the trace as a whole.\n"
         "Times are nanoseconds since the trace began."},
        {"iteration", OPTION_NUMBER, &step, "N",
         "With --perfetto, only what overlaps the Nth step of training, from 1."},
        {"force", OPTION_SWITCH, &force, .help = FORCE_HELP},
        {"json", OPTION_SWITCH, &json, .help = "Say what was written as JSON."},
    };
    const struct command_syntax syntax = {
        .name = "trace export",
        .synopsis = "--perfetto OUT [--iteration N]|--csv FOLDER [--force] [--json] FILE",
        .about = "Writes a trace in a format that other programs read.\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    const char *path;
    int status;
    if (!read_command_line(&syntax, argc, argv, &path, &status)) return status;
    if (!perfetto == !csv)
        return usage_error("trace export: %s; see sluice trace export --help",
                           csv ? "--perfetto or --csv, not both"
                               : "--perfetto OUT or --csv FOLDER is needed");
    output_force(force);
    if (csv && step) return usage_error("trace export: --iteration is for --perfetto");
    return perfetto ? to_perfetto(path, perfetto, step, json) : to_csv(path, csv, json);
}
