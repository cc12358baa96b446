/* `sluice top`: the running programs, live. */
#include "tools/top/top.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/output.h"
#include "tools/text/command_line.h"
#include "tools/text/messages.h"
#include "tools/top/leftovers.h"
#include "tools/top/listen.h"

static const struct sl_file_kind prometheus_kind =
    SL_FILE_KIND("no metrics of sluice's", "# HELP sluice_budget_bytes");

enum { LEAST_WIDTH = 40, MOST_INTERVAL_MS = 3600000 };

/* What the user asked for, and what was found. */
struct top {
    char **names;
    size_t name_count;
    const char *folder, *prometheus, *listen;
    struct runs runs;
    int status;
};

static volatile sig_atomic_t ended;

static void end(int signal)
{
    (void)signal;
    ended = 1;
}

/* In Prometheus's format; is freed. NULL, with errno: out of memory. */
static char *metrics_text(const struct runs *runs, size_t *bytes)
{
    char *text = NULL;
    *bytes = 0;
    FILE *memory = open_memstream(&text, bytes);
    if (!memory) return NULL;
    top_write_prometheus(memory, runs);
    if (fclose(memory) == 0) return text;
    free(text);
    return NULL;
}

static bool write_metrics(struct top *top)
{
    size_t bytes;
    char *text = metrics_text(&top->runs, &bytes);
    bool good = text && sl_output_replace(top->prometheus, &prometheus_kind, text, bytes) == SL_OK;
    if (!good) failure("cannot write %s: %s", top->prometheus, sl_file_problem(&prometheus_kind, errno));
    free(text);
    return good;
}

/* As the programs are now, for the server. */
static char *metrics_now(void *context, size_t *bytes)
{
    struct top *top = context;
    if (!runs_look(&top->runs, top->folder, top->names, top->name_count)) return NULL;
    return metrics_text(&top->runs, bytes);
}

/* False: the command ends, with top->status. */
static bool look(void *context)
{
    struct top *top = context;
    top->status = EXIT_FAILED;
    if (!runs_look(&top->runs, top->folder, top->names, top->name_count)) {
        failure("out of memory");
        return false;
    }
    if (top->prometheus && !write_metrics(top)) return false;
    top->status = EXIT_OK;
    return true;
}

static void print_once(struct top *top)
{
    struct top_lines lines = {0};
    unsigned width = terminal_width(stdout);
    top_write_lines(&lines, &top->runs, width < LEAST_WIDTH ? LEAST_WIDTH : width, has_unicode());
    for (uint32_t i = 0; i < lines.count; i++) {
        const struct top_line *line = &lines.all[i];
        size_t columns = text_columns(line->text),
               gap = line->right_at > columns ? line->right_at - columns : 0;
        const char *end = style_text(stdout, STYLE_NONE);
        printf("%s%s%s", style_text(stdout, line->style), line->text, end);
        if (line->right[0])
            printf("%*s%s%s%s", (int)gap, "", style_text(stdout, line->right_style), line->right, end);
        putchar('\n');
    }
    top_lines_free(&lines);
}

static int once(struct top *top, bool json)
{
    if (!look(top)) return top->status;
    if (json)
        top_write_json(stdout, &top->runs);
    else if (!top->prometheus)
        print_once(top);
    if (!top->runs.count && !top->runs.others && (top->name_count || !(json || top->prometheus)))
        return failure("no managed program %sis running", top->name_count ? "of that name or number " : "");
    return EXIT_OK;
}

/* Writes the metrics until a signal comes. */
static int serve(struct top *top, unsigned interval_ms)
{
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct timespec wait = {interval_ms / 1000, (long)(interval_ms % 1000) * 1000000};
    while (!ended && look(top)) nanosleep(&wait, NULL);
    return top->status;
}

static int listen_to(struct top *top, bool once)
{
    struct listen_place place;
    if (once || top->prometheus)
        return usage_error("--listen and %s exclude each other", once ? "--once" : "--prometheus");
    if (!listen_read_place(top->listen, &place))
        return usage_error("--listen: %s is no port from 0 to 65535, nor ADDRESS:PORT such as 0.0.0.0:9105",
                           top->listen);
    return listen_serve(&place, metrics_now, top);
}

/* "0.5" seconds. False: not such a number. */
static bool read_interval(const char *text, unsigned *ms)
{
    char *rest;
    double seconds = strtod(text, &rest);
    if (rest == text || *rest || !(seconds >= 0.05 && seconds * 1000 <= MOST_INTERVAL_MS)) return false;
    *ms = (unsigned)(seconds * 1000 + 0.5);
    return true;
}

int command_top(int argc, char **argv)
{
    struct top top = {.folder = SL_MONITOR_FOLDER};
    bool only_once = false, json = false;
    const char *interval = "1";
    const struct command_option options[] = {
        {"once", OPTION_SWITCH, &only_once, .help = "Print the figures once and end."},
        {"json", OPTION_SWITCH, &json, .help = "With --once: print JSON."},
        {"interval", OPTION_TEXT, &interval, "SECONDS",
         .help = "Time between updates, at least 0.05. Default: 1."},
        {"prometheus", OPTION_TEXT, &top.prometheus, "FILE",
         .help = "Instead of a screen, keep the figures in FILE, in Prometheus's text format, for its node "
                 "exporter. "
                 "With --once: write it once."},
        {"listen", OPTION_TEXT, &top.listen, "[ADDRESS:]PORT",
         .help = "Instead of a screen, serve the figures to Prometheus, at http://127.0.0.1:PORT/metrics or, "
                 "with an address of this machine (0.0.0.0: all), there. Whoever reaches the port can read "
                 "them. Port 0: any free one. Ends with SIGINT or SIGTERM."},
    };
    const struct command_syntax syntax = {
        .name = "top",
        .synopsis = "[OPTION]... [PID|NAME]...",
        .about =
            "Shows the user's running programs that sluice manages, all or the named ones: memory, steps, "
            "copies, misses and the plan. Looking and quitting never disturb them. SLUICE_TOP=off in a "
            "program's environment hides it. Keys: q quits, space pauses, arrows scroll, ? explains.\n"
            "lasting: allocated before the last whole step (parameters, optimizer state); idle: the same, "
            "and no "
            "launch has used its chunks since that step began; temporary: allocated later (activations); "
            "unused: on the device, but in no allocation. Stalls are on the device's clock, so a step that "
            "has some is shown by that clock, too. A software device simulates it.\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    unsigned interval_ms;
    int status;
    if (!read_command_line_of_files(&syntax, argc, argv, 0, &top.names, &top.name_count, &status))
        return status;
    if (!read_interval(interval, &interval_ms))
        return usage_error("--interval: %s is no number of seconds from 0.05 to 3600", interval);
    if (json && !only_once) return usage_error("--json needs --once; see sluice top --help");
    leftovers_remove();
    if (top.listen) {
        status = listen_to(&top, only_once);
        runs_free(&top.runs);
        return status;
    }
    if (only_once || (!top.prometheus && !(is_terminal(stdout) && is_terminal(stdin))))
        status = once(&top, json);
    else if (top.prometheus)
        status = serve(&top, interval_ms);
    else if (!look(&top) || top_screen(&top.runs, interval_ms, look, &top))
        status = top.status;
    else
        status = once(&top, false);
    runs_free(&top.runs);
    return status;
}
