#include "tools/advise/advise_command.h"

#include <string.h>

#include "base/options.h"
#include "tools/advise/advise.h"
#include "tools/advise/advise_report.h"
#include "tools/plan/plan_driver.h"
#include "tools/text/command_line.h"
#include "tools/text/messages.h"

enum { MOST_SHARERS = 64, MOST_ATTEMPTS = 100000, MOST_TRANSFER_US = 1000000 };

static int advise(char *const *paths, size_t count, const char *against, const struct situation_wish *wish,
                  size_t most, bool as_json, FILE *to)
{
    struct plan_job job, other = {0};
    struct situation situation;
    struct advice_list list;
    struct advise_report report = {&situation, &list, true};
    int status = plan_job_open("advise", paths, count, &job);
    char *other_paths[] = {(char *)against};
    if (status == EXIT_OK && against) status = plan_job_open("advise", other_paths, 1, &other);
    if (status == EXIT_OK && !advise_find(&job, wish, against ? &other : NULL, &situation, &list))
        status = EXIT_FAILED;
    for (size_t r = 0; status == EXIT_OK && r < count; r++)
        report.complete = report.complete && job.models[r]->problem.status == SL_OK;
    if (status == EXIT_OK && as_json) advise_print_json(&report, to);
    if (status == EXIT_OK && !as_json) advise_print_text(&report, most, to);
    if (status == EXIT_OK) status = plan_job_end(&job);
    plan_job_close(&job);
    plan_job_close(&other);
    return status;
}

static struct situation_wish usual_wish(void)
{
    return (struct situation_wish){.sharers = 1,
                                   .driver = sl_sim_drivers[PLAN_USUAL_DRIVER],
                                   .as_measured = true,
                                   .plan_attempts = PLAN_ATTEMPTS};
}

int advise_briefly(const char *path, size_t most, FILE *to)
{
    char *paths[] = {(char *)path};
    const struct situation_wish usual = usual_wish();
    return advise(paths, 1, NULL, &usual, most, false, to);
}

/* Reads a size into *out, if it is given. */
static bool take_size(const char *option, const char *text, uint64_t least, bool power, uint64_t *out)
{
    if (!text) return true;
    if (sl_parse_size(text, out) && *out >= least && (!power || (!(*out & (*out - 1)) && *out <= SL_GIB)))
        return true;
    usage_error("--%s %s is not allowed: it takes %s", option, text,
                power ? "a power of two from 2 MiB to 1 GiB" : "a size from 8 MiB such as 8G");
    return false;
}

static int check(const struct situation_wish *wish, uint64_t link_gbs, uint64_t transfer_us,
                 uint64_t attempts)
{
    char allowed[128];
    if (wish->policy && (!strcmp(wish->policy, "off") ||
                         !sl_options_check("SLUICE_POLICY", wish->policy, allowed, sizeof(allowed))))
        return usage_error("--policy %s is not allowed: it takes a policy of sluice run other than off",
                           wish->policy);
    if (wish->backing && !sl_options_check("SLUICE_BACKING", wish->backing, allowed, sizeof(allowed)))
        return usage_error("--backing %s is not allowed: it takes %s", wish->backing, allowed);
    if (transfer_us > MOST_TRANSFER_US)
        return usage_error("--transfer-us: the maximum is %d", MOST_TRANSFER_US);
    if (attempts > MOST_ATTEMPTS) return usage_error("--plan-attempts: the maximum is %d", MOST_ATTEMPTS);
    if (link_gbs > 1000000) return usage_error("--link-gbs: the maximum is 1000000");
    if (!wish->sharers || wish->sharers > MOST_SHARERS)
        return usage_error("--ranks-per-link: a number from 1 to %d is needed", MOST_SHARERS);
    return EXIT_OK;
}

int command_advise(int argc, char **argv)
{
    struct situation_wish wish = usual_wish();
    const char *budget = NULL, *chunk = NULL, *against = NULL;
    uint64_t link_gbs = 0, transfer_us = 0, attempts = PLAN_ATTEMPTS;
    struct plan_driver_words driver = PLAN_USUAL_DRIVER_WORDS;
    bool as_json = false;
    char **paths;
    size_t count;
    int status;
    const struct command_option options[] = {
        {"budget", OPTION_TEXT, &budget, "SIZE", "The budget of the run. Default: the recorded one."},
        {"chunk", OPTION_TEXT, &chunk, "SIZE", "Its chunk size. Default: the recorded one."},
        {"policy", OPTION_TEXT, &wish.policy, "POLICY", "Its policy. Default: the recorded one, or plan."},
        {"plan-attempts", OPTION_NUMBER, &attempts, "N", "Its SLUICE_PLAN_ATTEMPTS (8)."},
        {"backing", OPTION_TEXT, &wish.backing, "RULES", "Its SLUICE_BACKING (none)."},
        {"link-gbs", OPTION_NUMBER, &link_gbs, "N",
         "Speed of the link in each direction, in GB/s. Default: the measured speed, or 24."},
        {"ranks-per-link", OPTION_NUMBER, &wish.sharers, "N",
         "Number of ranks that share the given or assumed link speed in equal parts (1)."},
        PLAN_DRIVER_OPTIONS(driver),
        {"transfer-us", OPTION_NUMBER, &transfer_us, "N", "Fixed cost of a movement, in microseconds (0)."},
        {"against", OPTION_TEXT, &against, "OTHER",
         "The trace of another run of the program, with another batch size, optimizer or allocator: say what "
         "it would bring with the same budget."},
        {"json", OPTION_SWITCH, &as_json, .help = "Print a JSON object."},
    };
    const struct command_syntax syntax = {
        .name = "advise",
        .synopsis = "[OPTION]... FILE...",
        .about = "Says what would make the program of a trace faster, or fit in less memory: other budgets, "
                 "options of sluice, changes to the program. Facts that limit the rest come first, then what "
                 "saves time, then what saves memory, then what changes the training, each by gain. Options "
                 "are simulated as by sluice plan; "
                 "what a trace cannot answer is a bound: it cannot bring more.\n"
                 "Several FILEs are the traces of the ranks of one job, in the order of the ranks.\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    if (!read_command_line_of_files(&syntax, argc, argv, 1, &paths, &count, &status)) return status;
    if (count > REPLAY_RANKS) return usage_error("advise accepts at most %d traces", REPLAY_RANKS);
    if (count > 1 && against) return usage_error("--against accepts one trace only");
    status = check(&wish, link_gbs, transfer_us, attempts);
    if (status != EXIT_OK) return status;
    wish.link.in_bytes_per_s = wish.link.out_bytes_per_s = link_gbs * 1000000000;
    if (!plan_take_driver(&driver, &wish.driver, &wish.as_measured) ||
        !plan_take_link(&driver, &wish.link.in_bytes_per_s, &wish.link.out_bytes_per_s))
        return EXIT_USAGE;
    wish.plan_attempts = (unsigned)attempts;
    wish.transfer_ns = 1000 * transfer_us;
    if (!take_size("budget", budget, replay_least_budget(), false, &wish.budget_bytes) ||
        !take_size("chunk", chunk, SL_BLOCK_BYTES, true, &wish.chunk_bytes))
        return EXIT_USAGE;
    return advise(paths, count, against, &wish, SIZE_MAX, as_json, stdout);
}
