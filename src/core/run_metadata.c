#include "core/run_metadata.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/intern.h"
#include "base/mask.h"
#include "base/options.h"
#include "base/options_path.h"
#include "core/history.h"
#include "core/record.h"
#include "move/migrator.h"
#include "move/stats.h"
#include "move/transfer.h"
#include "trace/tensor_names.h"

#define LONGEST_COMMAND 1000
#define MOST_ARGUMENTS 8192 /* bytes that are read: a secret that is cut could not be recognized */
/* Iterations after which PyTorch is asked for names: by the first of them an optimizer has its state; later
 * there may be other tensors. */
enum { NAMES_EARLY = 8, NAMES_LATE = 64 };
#define BETWEEN_CHANGES_NS 1000000000u /* between two records of changing numbers */

/* Records "name=value". A later value of the same name replaces the earlier one. */
__attribute__((format(printf, 2, 3))) static void metadata(struct sl_recorder *recorder, const char *format,
                                                           ...)
{
    static char text[SL_INTERN_LONGEST + 1]; /* guarded by the order lock, or single-threaded */
    va_list arguments;
    if (!recorder->trace) return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sl_record(recorder, (struct sl_event){.type = SL_EVENT_METADATA, .text = sl_intern(text)});
}

/* Records a number that changes. Only its name is interned, because interned texts are never freed. */
static void number(struct sl_recorder *recorder, const char *name, uint64_t value)
{
    sl_record(recorder, (struct sl_event){.type = SL_EVENT_METADATA,
                                          .flags = SL_METADATA_NUMBER,
                                          .a = value,
                                          .text = sl_intern(name)});
}

char *sl_run_metadata_command(void)
{
    int mask = sl_options_in_force()->mask;
    char *arguments = mask == SL_MASK_ALL ? NULL : malloc(MOST_ARGUMENTS + 1), *command = NULL;
    int file = arguments ? open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC) : -1;
    ssize_t bytes = file < 0 ? -1 : read(file, arguments, MOST_ARGUMENTS);
    if (file >= 0) close(file);
    if (bytes > 0) command = malloc(LONGEST_COMMAND + 1);
    if (command) {
        arguments[bytes] = 0;
        sl_mask_command(arguments, (size_t)bytes, mask == SL_MASK_SECRETS, command, LONGEST_COMMAND + 1);
    }
    free(arguments);
    return command;
}

static void write_command(struct sl_recorder *recorder)
{
    char *command = sl_run_metadata_command();
    if (command) metadata(recorder, "command=%s", command);
    free(command);
}

void sl_run_metadata_start(struct sl_recorder *recorder, const struct sl_backend *backend, const char *policy,
                           const char *daemon)
{
    struct sl_device_properties device = {0};
    if (!recorder->trace) return;
    backend->describe(backend->self, &device);
    metadata(recorder, "sluice=%s", SLUICE_VERSION);
    metadata(recorder, "policy=%s", policy);
    metadata(recorder, "daemon=%s", daemon);
    if (sl_options_rank()) metadata(recorder, "rank=%s", sl_options_rank());
    if (device.name[0]) metadata(recorder, "device=%s", device.name);
    if (device.driver_version)
        metadata(recorder, "driver=%d.%d", device.driver_version / 1000, device.driver_version % 1000 / 10);
    write_command(recorder);
}

static void write_changes(struct sl_recorder *recorder, const struct sl_stats *stats)
{
    number(recorder, "plans", atomic_load(&stats->plans));
    number(recorder, "mispredictions", atomic_load(&stats->mispredictions));
}

static bool has_grown(uint64_t from, uint64_t to)
{
    return to > from + from / 64;
}

/* Records the link's speeds when they are first known, and again when they have grown. */
static void write_link(struct sl_recorder *recorder, const struct sl_migrator *migrator)
{
    uint64_t in = sl_transfers_speed(migrator->in.transfers),
             out = sl_transfers_speed(migrator->out.transfers);
    if (!has_grown(recorder->link_in_written, in) && !has_grown(recorder->link_out_written, out)) return;
    recorder->link_in_written = in;
    recorder->link_out_written = out;
    sl_record(recorder, (struct sl_event){.type = SL_EVENT_LINK, .a = in, .b = out});
}

void sl_run_metadata_iteration(struct sl_recorder *recorder, const struct sl_history *history,
                               const struct sl_migrator *migrator, const struct sl_stats *stats)
{
    if (!recorder->trace) return;
    struct sl_predictor_counts counts = sl_history_counts(history);
    sl_record(recorder, (struct sl_event){.type = SL_EVENT_ITERATION,
                                          .id = history->iterations,
                                          .a = counts.fed - recorder->fed_written,
                                          .b = counts.fed,
                                          .c = counts.predicted});
    recorder->fed_written = counts.fed;
    if (history->iterations == NAMES_EARLY || history->iterations == NAMES_LATE) sl_tensor_names_ask();
    write_link(recorder, migrator);
    uint64_t now = sl_clock_ns(CLOCK_MONOTONIC);
    uint64_t changes = atomic_load(&stats->plans) + atomic_load(&stats->mispredictions);
    if (changes == recorder->changes_written || now - recorder->changes_written_ns < BETWEEN_CHANGES_NS)
        return;
    recorder->changes_written = changes;
    recorder->changes_written_ns = now;
    write_changes(recorder, stats);
}

void sl_run_metadata_end(struct sl_recorder *recorder, const struct sl_history *history,
                         const struct sl_migrator *migrator, const struct sl_stats *stats)
{
    if (!recorder->trace) return;
    struct sl_predictor_counts counts = sl_history_counts(history);
    write_link(recorder, migrator);
    write_changes(recorder, stats);
    number(recorder, "symbols", counts.fed);
    number(recorder, "predicted", counts.predicted);
    number(recorder, "iterations", history->iterations);
}
