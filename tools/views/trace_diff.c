/* `sluice trace diff`: what changed between two runs of a program, and whether it matters. */
#include "tools/views/trace.h"

#include "tools/model/trace_open.h"
#include "tools/text/command_line.h"
#include "tools/text/defuse.h"
#include "tools/text/messages.h"
#include "tools/views/diff_views.h"

enum { EXIT_WORSE = 3, THRESHOLD = 2, THRESHOLD_MOST = 1000000, LIMIT = 10 };

static int open_models(char **paths, struct model *models[DIFF_SIDES])
{
    for (unsigned s = 0; s < DIFF_SIDES; s++) {
        int status = model_open(paths[s], &models[s]);
        if (status != EXIT_OK) return status;
        if (models[s]->launches.count) continue;
        status = end_status(paths[s], &models[s]->problem);
        return status == EXIT_OK && models[s]->problem.status == SL_OK
                   ? failure("%s: the trace has no launches", paths[s])
                   : EXIT_FAILED;
    }
    return EXIT_OK;
}

/* Reports problems of the files. A file that ends early is no failure, a damaged one is. */
static int close_models(char **paths, struct model *models[DIFF_SIDES], int status, bool tell)
{
    for (unsigned s = 0; s < DIFF_SIDES; s++) {
        if (tell && end_status(paths[s], &models[s]->problem) != EXIT_OK) status = EXIT_FAILED;
        model_close(models[s]);
    }
    return status;
}

static int show(char **paths, struct model *models[DIFF_SIDES], uint64_t threshold, uint64_t limit, bool json)
{
    struct diff diff;
    struct diff_view view = {.diff = &diff, .paths = {paths[DIFF_A], paths[DIFF_B]}, .limit = limit};
    int status = EXIT_FAILED;
    for (unsigned s = 0; s < DIFF_SIDES; s++) defuse_text(paths[s]); /* only for display from here on */
    bool made = diff_make(models[DIFF_A], models[DIFF_B], threshold, &diff);
    for (unsigned s = 0; s < DIFF_SIDES && made; s++) {
        view.titles[s] = site_titles_new(models[s]);
        made = view.titles[s] != NULL;
    }
    if (!made) {
        failure("trace diff: out of memory");
    } else if (json) {
        diff_print_json(&view);
        status = EXIT_OK;
    } else {
        status = diff_print_text(&view);
    }
    if (status == EXIT_OK && diff_verdict(&diff) == DIFF_MORE) status = EXIT_WORSE;
    for (unsigned s = 0; s < DIFF_SIDES; s++) site_titles_free(view.titles[s]);
    diff_free(&diff);
    return status;
}

int trace_diff(int argc, char **argv)
{
    bool json = false;
    uint64_t threshold = THRESHOLD, limit = LIMIT;
    const struct command_option options[] = {
        {"threshold", OPTION_NUMBER, &threshold, "PERCENT",
         "How much a figure must differ to matter (2): in per cent of the smaller value, and a tenth of that "
         "of the whole that it is a part of. 0: every difference beyond the spread of iterations."},
        {"limit", OPTION_NUMBER, &limit, "N", "Print at most N kernels and N sites (10). 0: print all."},
        {"json", OPTION_SWITCH, &json, .help = "Print a JSON object with all figures, kernels and sites."},
    };
    const struct command_syntax syntax = {
        .name = "trace diff",
        .synopsis = "[--threshold PERCENT] [--limit N] [--json] A B",
        .about =
            "Compares two traces of a program and says in the first line whether B is slower or faster than "
            "A, and where the time goes. Then it prints what differs:\n"
            "  settings          the command, device, policy, budget, chunk size and link speed\n"
            "  figures           time, stalls, bytes moved by cause and by class, memory on the device, for "
            "each iteration\n"
            "  kernels           launches, time and stalls for each iteration\n"
            "  allocation sites  the most memory that each held at one time\n"
            "The iterations of the second half of each run are compared, by their medians: training steps "
            "or, "
            "if there are none, the repetitions that sluice found. The spread is the distance within which "
            "half of the iterations of a trace lie, all of them if there are fewer than 8. A difference "
            "within the larger spread is noise, which is only counted.\n"
            "If the device has a clock of its own, as the software device has, an iteration takes the time "
            "of "
            "its kernels and stalls. If most times are guesses, stalls and bytes are compared; if the "
            "devices "
            "differ, only bytes are.\n"
            "Exit status 3: B is worse by more than the threshold, in time or, if that is not compared, in "
            "stalls or bytes.\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    char **paths;
    size_t count;
    int status;
    struct model *models[DIFF_SIDES] = {NULL};
    if (!read_command_line_of_files(&syntax, argc, argv, DIFF_SIDES, &paths, &count, &status)) return status;
    if (count > DIFF_SIDES) return usage_error("trace diff takes two files");
    if (threshold > THRESHOLD_MOST)
        return usage_error("trace diff: --threshold takes a number of per cent up to %d", THRESHOLD_MOST);
    status = open_models(paths, models);
    bool opened = status == EXIT_OK;
    if (opened) status = show(paths, models, threshold, limit ? limit : UINT64_MAX, json);
    return close_models(paths, models, status, opened);
}
