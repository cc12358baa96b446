#include "tools/report/trace_diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/model/trace_open.h"
#include "tools/report/page_file.h"
#include "tools/text/command_line.h"
#include "tools/text/messages.h"
#include "tools/text/output_file.h"
#include "tools/views/diff_views.h"

enum { EXIT_WORSE = 3, THRESHOLD = 2, THRESHOLD_MOST = 1000000, LIMIT = 10 };

/* What the user wishes to see. */
struct diff_wish {
    uint64_t threshold, limit;
    const char *out; /* of the page; NULL: none */
    bool json;
};

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

static int no_memory(void)
{
    return failure("trace diff: out of memory");
}

static int print_json(const struct diff_view *view)
{
    struct json json = {.to = stdout};
    return diff_json(&json, NULL, view) ? EXIT_OK : no_memory();
}

/* The page has the object that --json prints. */
static int write_page(const struct diff_view *view, const char *out, bool tell)
{
    const struct page_file file = {.command = "trace diff",
                                   .out = out,
                                   .source = &diff_page,
                                   .kind = SL_FILE_KIND("not a comparison of sluice", "sluice trace diff")};
    char *data = NULL;
    size_t bytes = 0, written;
    struct json json = {.to = open_memstream(&data, &bytes)};
    if (!json.to) return no_memory();
    json_object(&json, NULL, false);
    json_number(&json, "format", 1);
    json_text(&json, "sluice", SLUICE_VERSION);
    bool good = diff_json(&json, "diff", view);
    json_close(&json);
    int status = fclose(json.to) == 0 && good ? page_put(&file, data, bytes, &written) : no_memory();
    if (status == EXIT_OK && tell) {
        diff_headline(view->diff, stdout);
        page_tell(&file, written);
    }
    free(data);
    return status;
}

static int show(char **paths, struct model *models[DIFF_SIDES], const struct diff_wish *wish)
{
    struct diff diff;
    struct diff_view view = {.diff = &diff, .paths = {paths[DIFF_A], paths[DIFF_B]}, .limit = wish->limit};
    int status = EXIT_OK;
    for (unsigned s = 0; s < DIFF_SIDES; s++) sl_defuse(paths[s]); /* only for display from here on */
    bool made = diff_make(models[DIFF_A], models[DIFF_B], wish->threshold, &diff);
    for (unsigned s = 0; s < DIFF_SIDES && made; s++) {
        view.titles[s] = site_titles_new(models[s]);
        made = view.titles[s] != NULL;
    }
    if (!made) status = no_memory();
    if (status == EXIT_OK && wish->out)
        status = write_page(&view, wish->out, !wish->json && strcmp(wish->out, "-") != 0);
    if (status == EXIT_OK && wish->json) status = print_json(&view);
    if (status == EXIT_OK && !wish->json && !wish->out) status = diff_print_text(&view);
    if (status == EXIT_OK && diff_verdict(&diff) == DIFF_MORE) status = EXIT_WORSE;
    for (unsigned s = 0; s < DIFF_SIDES; s++) site_titles_free(view.titles[s]);
    diff_free(&diff);
    return status;
}

static int check(const struct diff_wish *wish, char **paths, size_t count)
{
    if (count != DIFF_SIDES)
        return usage_error(
            "trace diff takes exactly two traces, A and B, not %zu; see sluice trace diff --help", count);
    if (wish->threshold > THRESHOLD_MOST)
        return usage_error("trace diff: --threshold takes a number of per cent up to %d", THRESHOLD_MOST);
    if (!wish->out) return EXIT_OK;
    if (wish->json && !strcmp(wish->out, "-"))
        return usage_error("trace diff: -o - and --json both write to standard output");
    return page_check_out("trace diff", wish->out, paths, count);
}

int trace_diff(int argc, char **argv)
{
    struct diff_wish wish = {.threshold = THRESHOLD, .limit = LIMIT};
    bool force = false;
    const struct command_option options[] = {
        {"output", OPTION_TEXT, &wish.out, "OUT",
         "Write everything as one HTML page to OUT, - for standard output, and print the first line only.",
         .letter = 'o'},
        {"threshold", OPTION_NUMBER, &wish.threshold, "PERCENT",
         "How much a figure must differ to matter (2): in per cent of the smaller value, and a tenth of that "
         "of the whole that it is a part of. 0: every difference beyond the spread of iterations."},
        {"limit", OPTION_NUMBER, &wish.limit, "N",
         "Print at most N kernels and N sites (10). 0: print all. The page and JSON have all."},
        {"force", OPTION_SWITCH, &force, .help = FORCE_HELP},
        {"json", OPTION_SWITCH, &wish.json,
         .help = "Print a JSON object with all figures, kernels and sites."},
    };
    const struct command_syntax syntax = {
        .name = "trace diff",
        .synopsis = "[--threshold PERCENT] [--limit N] [--json] [-o OUT [--force]] A B",
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
    if (!read_command_line_of_files(&syntax, argc, argv, 0, &paths, &count, &status)) return status;
    output_force(force);
    status = check(&wish, paths, count);
    if (status != EXIT_OK) return status;
    if (!wish.limit) wish.limit = UINT64_MAX;
    status = open_models(paths, models);
    bool opened = status == EXIT_OK;
    if (opened) status = show(paths, models, &wish);
    return close_models(paths, models, status, opened);
}
