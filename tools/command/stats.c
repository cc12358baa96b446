/* `sluice stats`: prints the statistics in a live file of a run. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tools/command/commands.h"
#include "tools/command/live.h"
#include "tools/text/command_line.h"
#include "tools/text/file_kind.h"
#include "tools/text/messages.h"

static void print_line(const char *line)
{
    puts(line);
}

static void print_text(const struct sl_live_record *record)
{
    const struct sl_live *live = &record->live;
    printf("%s (process %u) %s\n", live->program, live->process,
           record->running ? "is running" : "has ended");
    if (live->state == SL_LIVE_SEEN)
        puts("no statistics yet");
    else
        sl_stats_say(&record->stats, print_line);
}

int command_stats(int argc, char **argv)
{
    bool json = false;
    const struct command_option options[] = {
        {"json", OPTION_SWITCH, &json, .help = "Print the JSON that sluice run --stats writes at exit."},
    };
    const struct command_syntax syntax = {
        .name = "stats",
        .synopsis = "[--json] FILE",
        .about = "Prints the statistics of a run that is running or was killed. FILE is the file that "
                 "SLUICE_LIVE names, or NAME.live if SLUICE_STATS=NAME was set.\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    const char *path;
    int status;
    struct sl_live_record *record;
    if (!read_command_line(&syntax, argc, argv, &path, &status)) return status;
    enum sl_status read = sl_live_read(path, &record);
    if (read == SL_ERR_IO && path[strspn(path, "0123456789")] == 0)
        return failure("stats takes a file, and there is none named %s; sluice top %s shows a process", path,
                       path);
    if (read == SL_ERR_IO) return failure("cannot read %s: %s", path, strerror(errno));
    if (read)
        return failure("%s: not readable statistics of a run: %s%s", path, sl_status_text(read),
                       other_file_kind(path, SL_LIVE_MAGIC));
    if (json)
        sl_stats_print(stdout, (const struct sl_stats *[]){&record->stats}, 1, false);
    else
        print_text(record);
    sl_live_free(record);
    return EXIT_OK;
}
