/* `sluice plan`: predicts the cost of a budget, a chunk size, a policy or a link for a traced program. */
#include "tools/plan/plan_command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "tools/plan/plan_driver.h"
#include "tools/plan/plan_job.h"
#include "tools/plan/plan_profile.h"
#include "tools/plan/plan_report.h"
#include "tools/plan/plan_wish.h"
#include "tools/replay/sequence.h"
#include "tools/text/command_line.h"
#include "tools/text/messages.h"
#include "tools/text/output_file.h"

enum { MOST_SHARERS = 64, MOST_MOVERS = 8 };

struct order { /* actions in addition to the predictions */
    const char *sequence, *profile;
    uint64_t iterations, sharers;
    unsigned peers; /* enum plan_peers */
    bool json, no_least, force;
};

/* --- arguments */

/* Calls `take` for each part of a list; `allowed` describes the allowed values. */
static bool each(const char *option, const char *allowed, const char *list,
                 bool (*take)(struct plan_wish *, const char *word), struct plan_wish *wish)
{
    char word[64];
    for (unsigned count = 0; list; count++) {
        size_t length = strcspn(list, ",");
        bool fits = length && length < sizeof(word) && count < PLAN_LIST_MAX;
        if (fits) {
            memcpy(word, list, length);
            word[length] = 0;
        }
        if (!fits || !take(wish, word)) {
            usage_error("--%s %.*s is not allowed: it takes up to %d values, each %s", option, (int)length,
                        list, PLAN_LIST_MAX, allowed);
            return false;
        }
        list = list[length] ? list + length + 1 : NULL;
    }
    return true;
}

static bool read_share(const char *word, double *out)
{
    char *end;
    errno = 0;
    *out = strtod(word, &end);
    return *word >= '0' && *word <= '9' && !*end && !errno && *out > 0 && *out <= 1;
}

static bool take_budget(struct plan_wish *wish, const char *word)
{
    struct plan_budget *budget = &wish->budgets[wish->budget_count++];
    if (read_share(word, &budget->share)) return true;
    budget->share = 0;
    return sl_parse_size(word, &budget->bytes) && budget->bytes >= SL_BLOCK_BYTES;
}

static bool take_chunk(struct plan_wish *wish, const char *word)
{
    uint64_t *chunk = &wish->chunks[wish->chunk_count++];
    return sl_parse_size(word, chunk) && !(*chunk & (*chunk - 1)) && *chunk >= SL_BLOCK_BYTES &&
           *chunk <= SL_GIB;
}

static bool take_policy(struct plan_wish *wish, const char *word)
{
    char allowed[128];
    if (!strcmp(word, "off") || !sl_options_check("SLUICE_POLICY", word, allowed, sizeof(allowed)))
        return false;
    return (wish->policies[wish->policy_count++] = strdup(word)) != NULL;
}

static bool take_link(struct plan_wish *wish, const char *word)
{
    uint64_t speed;
    if (!plan_take_speed(word, &speed)) return false;
    wish->links[wish->link_count++] = (struct plan_link){speed, speed};
    return true;
}

static void forget(struct plan_wish *wish)
{
    for (unsigned p = 0; p < wish->policy_count; p++) free((char *)wish->policies[p]);
}

/* --- the command */

/* Writes the last iterations of the first prediction: relayout may have given allocations other chunks than
 * with another budget or policy. */
static int write_sequence(const struct replay_job *job, const struct predictions *predictions,
                          const char *path, uint64_t iterations)
{
    static const struct sl_file_kind kind = SL_FILE_KIND("not a sequence of sluice", SEQUENCE_KIND);
    struct replay_setting setting = predictions->at->setting;
    struct replay_result result;
    setting.sequence = output_open(path, &kind);
    setting.sequence_iterations = (uint32_t)iterations;
    setting.find_least = false;
    if (!setting.sequence) return failure("cannot write %s: %s", path, sl_file_problem(&kind, errno));
    bool good = replay_all(job, &setting, 1, &result);
    fclose(setting.sequence);
    if (!good) return EXIT_FAILED;
    return result.status == SL_OK ? EXIT_OK
                                  : failure("cannot write %s: %s", path, sl_status_text(result.status));
}

static int predict(char *const *paths, const struct replay_job *job, const struct plan_wish *wish,
                   bool sought, const struct order *order)
{
    struct predictions predictions = {0};
    struct prediction least = {0};
    struct plan_report report = {job,         paths, &predictions, order->no_least ? NULL : &least,
                                 wish->bound, sought};
    struct json json = {.to = stdout};
    int status = EXIT_FAILED;
    if (predictions_make(job, wish, &predictions) &&
        (order->no_least || plan_least_budget(job, wish, &predictions, &least)))
        status = EXIT_OK;
    if (status == EXIT_OK && order->sequence)
        status = write_sequence(job, &predictions, order->sequence, order->iterations);
    if (status == EXIT_OK && order->profile) {
        const struct prediction *fastest = predictions_fastest(&predictions);
        const struct prediction *best = least.setting.budget_bytes ? &least : fastest;
        status = best ? plan_write_profile(job->ranks->model, best, order->profile)
                      : failure("%s: no configuration could be tried", paths[0]);
    }
    if (status == EXIT_OK && order->json) plan_json(&json, NULL, &report);
    if (status == EXIT_OK && !order->json && !plan_print_text(&report))
        status = failure("%s: out of memory", paths[0]);
    predictions_free(&predictions);
    return status;
}

static int plan(char *const *paths, size_t count, struct plan_wish *wish, const struct order *order)
{
    struct plan_job job;
    bool sought = !wish->chunk_count;
    int status = plan_job_open("plan", paths, count, &job);
    if (status == EXIT_OK) {
        plan_complete_wish(wish, &job.job, order->sharers, order->peers);
        status = predict(paths, &job.job, wish, sought, order);
    }
    if (status == EXIT_OK) status = plan_job_end(&job);
    plan_job_close(&job);
    return status;
}

int command_plan(int argc, char **argv)
{
    static const char *const peers[] = {"auto", "link", "own", NULL}, *const daemons[] = {"inline", "thread",
                                                                                          NULL};
    struct order order = {.iterations = 1, .sharers = 1};
    struct plan_wish wish = {0};
    const char *budgets = NULL, *chunks = NULL, *policies = NULL, *links = NULL;
    char **paths;
    size_t count;
    char allowed[128];
    unsigned daemon = 0;
    uint64_t transfer_us = 0, attempts = PLAN_ATTEMPTS, movers = PLAN_NOT_GIVEN;
    struct plan_driver_words driver = PLAN_USUAL_DRIVER_WORDS;
    const struct command_option options[] = {
        {"budget", OPTION_TEXT, &budgets, "LIST",
         "Budgets: sizes, or shares of the memory that the program needs (0.8,0.66,0.5,0.33,0.25)."},
        {"chunk", OPTION_TEXT, &chunks, "LIST",
         "Chunk sizes. Default: try sizes from 2 to 64 MiB and show the best one for each budget."},
        {"policy", OPTION_TEXT, &policies, "LIST", "Policies of sluice run (plan)."},
        {"link-gbs", OPTION_TEXT, &links, "LIST",
         "Link speeds in each direction, in GB/s. Default: the measured speed, or 24."},
        {"ranks-per-link", OPTION_NUMBER, &order.sharers, "N",
         "Number of ranks that share the given or assumed link speed in equal parts (1). A measured speed is "
         "not divided: the other ranks used the link during the measurement."},
        {"peers", OPTION_WORD, &order.peers, .words = peers,
         .help = "Path of the data that ranks send each other: the link to the host, or links of their own. "
                 "auto: the link to the host, unless a long collective was faster than it."},
        {"backing", OPTION_TEXT, &wish.backing, "RULES",
         "Allocations that live in pinned host memory, as for sluice run (none)."},
        PLAN_DRIVER_OPTIONS(driver),
        {"transfer-us", OPTION_NUMBER, &transfer_us, "N", "Fixed cost of a movement, in microseconds (0)."},
        {"plan-attempts", OPTION_NUMBER, &attempts, "N",
         "Number of alternatives that the planner tries for each plan, as for sluice run (8). More attempts "
         "show what a longer run finds."},
        {"daemon", OPTION_WORD, &daemon, .words = daemons,
         .help = "When plans are made. inline, the default: when a plan is needed. thread: half a plan "
                 "earlier, as the threads of sluice run --daemon thread do. Movements cost the same."},
        {"bound", OPTION_SWITCH, &wish.bound,
         .help =
             "Print a lower bound of each step as well: what it computes and has to move takes so long on "
             "the link and in the threads that move memory, and which of them limits it."},
        {"movers", OPTION_NUMBER, &movers, "N",
         "With --daemon thread: threads that move memory to the host, as for sluice run; half as many move "
         "it to "
         "the device (1)."},
        {"no-least", OPTION_SWITCH, &order.no_least,
         .help = "Print only the table; do not search for the least budget."},
        {"profile", OPTION_TEXT, &order.profile, "OUT",
         "Write the least budget, its chunk size and the rules of --backing to OUT, a profile for "
         "SLUICE_PROFILE."},
        {"sequence", OPTION_TEXT, &order.sequence, "OUT",
         "Write the last iteration of the first prediction to OUT as JSON, in chunks, as the core saw it."},
        {"iterations", OPTION_NUMBER, &order.iterations, "N",
         "With --sequence: write the last N iterations (1)."},
        {"force", OPTION_SWITCH, &order.force, .help = FORCE_HELP},
        {"json", OPTION_SWITCH, &order.json, .help = "Print a JSON object."},
    };
    const struct command_syntax syntax = {
        .name = "plan",
        .synopsis = "[--budget LIST] [--chunk LIST] [--policy LIST] [--link-gbs LIST] [OPTION]... FILE...",
        .about =
            "Predicts how the program of a trace would run with less device memory: step time, bytes moved "
            "and stalls. sluice's own core replays the allocations, launches and times of the trace; only "
            "the device is simulated. The report ends with the least budget that costs at most 5 % of time. "
            "LIST: values separated by commas.\n"
            "Several FILEs are the traces of the ranks of one job, in the order of the ranks. They are "
            "replayed together and wait for each other at collectives. Each rank has the given budget.\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    int status;
    if (!read_command_line_of_files(&syntax, argc, argv, 1, &paths, &count, &status)) return status;
    if (!plan_take_driver(&driver, &wish.driver, &wish.as_measured) ||
        !plan_take_link(&driver, &wish.given.in_bytes_per_s, &wish.given.out_bytes_per_s))
        return EXIT_USAGE;
    if (transfer_us > 1000000) return usage_error("--transfer-us: the maximum is 1000000");
    if (!order.iterations || order.iterations > REPLAY_ITERATIONS)
        return usage_error("--iterations: a number from 1 to %d is needed", REPLAY_ITERATIONS);
    if (wish.backing && !sl_options_check("SLUICE_BACKING", wish.backing, allowed, sizeof(allowed)))
        return usage_error("--backing %s is not allowed: it takes %s", wish.backing, allowed);
    output_force(order.force);
    if (attempts > 100000) return usage_error("--plan-attempts: the maximum is 100000");
    wish.transfer_ns = 1000 * transfer_us;
    wish.plan_attempts = (unsigned)attempts;
    wish.plans_beside = daemon == 1;
    if (movers != PLAN_NOT_GIVEN) {
        if (daemon != 1) return usage_error("--movers needs --daemon thread");
        if (!movers || movers > MOST_MOVERS)
            return usage_error("--movers: a number from 1 to %d is needed", MOST_MOVERS);
        wish.movers = (unsigned)movers;
    }
    if (!order.sharers || order.sharers > MOST_SHARERS)
        return usage_error("--ranks-per-link: a number from 1 to %d is needed", MOST_SHARERS);
    if (count > REPLAY_RANKS) return usage_error("plan accepts at most %d traces", REPLAY_RANKS);
    if (count > 1 && order.sequence) return usage_error("--sequence accepts one trace only");
    bool understood =
        each("budget", "a share up to 1, or a size from 2 MiB such as 8G", budgets, take_budget, &wish) &&
        each("chunk", "a power of two from 2 MiB to 1 GiB", chunks, take_chunk, &wish) &&
        each("policy", "a policy of sluice run other than off", policies, take_policy, &wish) &&
        each("link-gbs", "a speed from 0.001 to 1000000", links, take_link, &wish);
    status = understood ? plan(paths, count, &wish, &order) : EXIT_USAGE;
    forget(&wish);
    return status;
}
