#include "tools/rehearse/rehearse_command.h"

#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "tools/rehearse/rehearse_report.h"
#include "tools/report/trace_report.h"
#include "tools/text/command_line.h"
#include "tools/text/messages.h"

enum { CARDS_MOST = 16, STEPS = 10, STEPS_LEAST = 3 };

struct given {
    const char *cards, *host, *budget, *report;
    uint64_t steps, cores, ranks, tokens, samples;
    bool json, no_curve;
};

/* The cards of a list separated by commas. Returns their number; 0: an error was printed. */
static size_t take_cards(const char *list, const struct card *cards[CARDS_MOST])
{
    size_t count = 0;
    for (const char *name = list; name; count++) {
        size_t length = strcspn(name, ",");
        if (count == CARDS_MOST) return usage_error("--card takes up to %d cards", CARDS_MOST), 0;
        cards[count] = card_find(name, length);
        if (!cards[count]) {
            char names[512] = "";
            for (size_t i = 0; card_name(i); i++) {
                if (i) strcat(names, ", ");
                strncat(names, card_name(i), 32);
            }
            return usage_error("--card %.*s: there is no such card; there are %s", (int)length, name, names),
                   0;
        }
        name = name[length] ? name + length + 1 : NULL;
    }
    return count;
}

static int check(const struct given *given, uint64_t *host_bytes)
{
    char allowed[128];
    if (given->host && (!sl_parse_size(given->host, host_bytes) || *host_bytes < SL_GIB))
        return usage_error("--host %s is not allowed: it takes a size from 1G such as 128G", given->host);
    if (given->budget && !sl_options_check("SLUICE_DEVICE_BUDGET", given->budget, allowed, sizeof(allowed)))
        return usage_error("--budget %s is not allowed: it takes %s", given->budget, allowed);
    if (!given->ranks || given->ranks > 16) return usage_error("--ranks: a number from 1 to 16 is needed");
    if (given->steps && given->steps < STEPS_LEAST)
        return usage_error("--steps: a number from %d on is needed, or 0", STEPS_LEAST);
    if (given->tokens && given->samples) return usage_error("--tokens and --samples exclude each other");
    return EXIT_OK;
}

/* As `sluice trace report` writes it. */
static int write_report(const char *file, const struct rehearsal *rehearsal)
{
    char(*names)[PATH_MAX] = calloc(rehearsal->count + 1, sizeof(*names)),
    *argv[REHEARSAL_PROCESSES + 4] = {"report", "-o", (char *)file};
    if (!names) return failure("out of memory");
    for (size_t i = 0; i < rehearsal->count; i++) {
        rehearsal_trace(rehearsal, i, names[i]);
        argv[3 + i] = names[i];
    }
    int status = rehearsal->count ? trace_report(3 + (int)rehearsal->count, argv)
                                  : failure("no report: there is no trace");
    free(names);
    return status;
}

static int rehearse(const struct given *given, const struct rehearsal_wish *wish, struct outcome *out,
                    bool *interrupted)
{
    static struct rehearsal rehearsal; /* static because it is large */
    int status = rehearsal_run(wish, &rehearsal);
    if (status == EXIT_OK) status = outcome_make(wish, &rehearsal, !given->no_curve, out);
    if (status == EXIT_OK && given->report) status = write_report(given->report, &rehearsal);
    *interrupted = rehearsal.interrupted;
    rehearsal_close(&rehearsal);
    return status;
}

static int rehearse_all(const struct given *given, const struct card *const *cards, size_t count,
                        struct rehearsal_wish wish)
{
    static struct outcome outcomes[CARDS_MOST];
    int status = EXIT_OK;
    size_t done = 0;
    for (bool interrupted = false; done < count && status == EXIT_OK && !interrupted; done++) {
        wish.card = cards[done];
        status = rehearse(given, &wish, &outcomes[done], &interrupted);
    }
    if (status != EXIT_OK) return status;
    const struct rehearse_report report = {.of = outcomes,
                                           .count = done,
                                           .items = given->tokens ? given->tokens : given->samples,
                                           .item = given->tokens ? "tokens" : "samples",
                                           .host_bytes = wish.host_bytes,
                                           .budget = given->budget,
                                           .command = wish.command};
    char problem[256];
    if (done == 1 && !outcomes->ranks && !given->json)
        return failure("%s: %s", cards[0]->name, rehearse_problem(outcomes, problem, sizeof(problem)));
    if (given->json)
        rehearse_print_json(&report, stdout);
    else if (!rehearse_print(&report, stdout))
        return failure("out of memory");
    for (size_t i = 0; i < done; i++)
        if (!outcomes[i].steps) status = EXIT_FAILED;
    return status;
}

int command_rehearse(int argc, char **argv)
{
    struct given given = {.cards = "rtx4090", .steps = STEPS, .ranks = 1};
    const struct command_option options[] = {
        {"card", OPTION_TEXT, &given.cards, "NAME",
         "The card (rtx4090), or several separated by commas: then one table shows them all, and COMMAND "
         "runs once for each."},
        {"host", OPTION_TEXT, &given.host, "SIZE",
         "The host's memory, such as 128G. Default: this machine's."},
        {"cores", OPTION_NUMBER, &given.cores, "N",
         "The host's cores, which the ranks share. Default: enough."},
        {"ranks", OPTION_NUMBER, &given.ranks, "N",
         "Number of such cards in the machine (1). COMMAND starts the ranks itself."},
        {"budget", OPTION_TEXT, &given.budget, "SIZE",
         "Device memory for the program's data, as for sluice run. Default: automatic."},
        {"steps", OPTION_NUMBER, &given.steps, "N",
         "End COMMAND after so many training steps (10), or when the user does. 0: it ends by itself."},
        {"tokens", OPTION_NUMBER, &given.tokens, "N",
         "Tokens of a step on all cards together, to tell tokens a second."},
        {"samples", OPTION_NUMBER, &given.samples, "N", "The same for samples."},
        {"no-curve", OPTION_SWITCH, &given.no_curve, .help = "Do not predict the step for other budgets."},
        {"report", OPTION_TEXT, &given.report, "OUT",
         "Write an HTML report of the run to OUT, as sluice trace report does."},
        {"json", OPTION_SWITCH, &given.json, .help = "Print a JSON object."},
    };
    const struct command_syntax syntax = {
        .name = "rehearse",
        .synopsis = "[OPTION]... [--] COMMAND [ARGUMENT]...",
        .about = "Says whether an unmodified CUDA program would fit on a card, and how fast, without one: "
                 "runs COMMAND under sluice "
                 "on the software device, which executes only some blocks of each kernel and hardly touches "
                 "memory. Models far "
                 "larger than this machine's memory run so. What the program computes is wrong: one whose "
                 "course depends on it "
                 "(a router of experts, a loss scaler) cannot be rehearsed truly.\n"
                 "Prints whether it fits, the memory that it needs, the time of a step, what limits it, and "
                 "what other budgets would "
                 "cost. COMMAND's own output comes first.\n"
                 "Exit status 1: COMMAND made no whole step.\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    const struct card *cards[CARDS_MOST];
    struct rehearsal_wish wish = {0};
    int status;
    if (!read_command_line_of_command(&syntax, argc, argv, &wish.command, &status)) return status;
    status = check(&given, &wish.host_bytes);
    if (status != EXIT_OK) return status;
    size_t count = take_cards(given.cards, cards);
    if (!count) return EXIT_USAGE;
    if (given.report && count > 1) return usage_error("--report takes one card");
    wish.cards = given.ranks;
    wish.cores = given.cores;
    wish.budget = given.budget;
    wish.steps = given.steps;
    return rehearse_all(&given, cards, count, wish);
}
