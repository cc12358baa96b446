/* `sluice plan`: what a budget, a chunk size, a policy, a link would cost a program that was traced. */
#include "tools/plan/plan_command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "tools/model/trace_open.h"
#include "tools/plan/plan_profile.h"
#include "tools/plan/plan_report.h"
#include "tools/replay/sequence.h"
#include "tools/text/command_line.h"
#include "tools/text/messages.h"
#include "tools/text/output_file.h"

enum {
    DEFAULT_LINK_GBS = 24, /* PCIe 4 x16 */
    DEFAULT_BOTH_PERCENT = 92,
    DEFAULT_ATTEMPTS = 8,
};

/* --- what is asked for */

/* Calls take for each part of a list; `allowed` says what each may be. */
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

static bool read_real(const char *word, double *out)
{
    char *end;
    errno = 0;
    *out = strtod(word, &end);
    return *word >= '0' && *word <= '9' && !*end && !errno;
}

static bool take_budget(struct plan_wish *wish, const char *word)
{
    struct plan_budget *budget = &wish->budgets[wish->budget_count++];
    if (read_real(word, &budget->share) && budget->share > 0 && budget->share <= 1) return true;
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
    double gbs;
    if (!read_real(word, &gbs) || !(gbs >= 0.001) || gbs > 1e6) return false;
    uint64_t speed = (uint64_t)(gbs * 1e9);
    wish->links[wish->link_count++] = (struct plan_link){speed, speed};
    return true;
}

static void complete(struct plan_wish *wish, const struct replay_program *program)
{
    const struct model *model = program->model;
    uint64_t assumed = (uint64_t)DEFAULT_LINK_GBS * 1000000000;
    if (!wish->budget_count) plan_default_budgets(wish);
    if (!wish->chunk_count) plan_seek_chunks(wish, program->peak_bytes, model->chunk_bytes);
    if (!wish->policy_count) wish->policies[wish->policy_count++] = strdup("plan");
    if (!wish->link_count)
        wish->links[wish->link_count++] = (struct plan_link){model->link_in ? model->link_in : assumed,
                                                             model->link_out ? model->link_out : assumed};
}

static void forget(struct plan_wish *wish)
{
    for (unsigned p = 0; p < wish->policy_count; p++) free((char *)wish->policies[p]);
}

/* --- the command */

/* Writes iterations with everything on the device, in chunks of the first size. */
static int write_sequence(const struct replay_program *program, const struct plan_wish *wish,
                          const char *path, uint64_t iterations)
{
    static const struct sl_file_kind kind = SL_FILE_KIND("no sequence of sluice's", SEQUENCE_KIND);
    struct replay_setting setting = {.chunk_bytes = wish->chunks[0],
                                     .policy = "demand",
                                     .in_bytes_per_s = wish->links[0].in_bytes_per_s,
                                     .out_bytes_per_s = wish->links[0].out_bytes_per_s,
                                     .both_percent = wish->both_percent,
                                     .sequence = output_open(path, &kind),
                                     .sequence_iterations = (uint32_t)iterations};
    struct replay_result result;
    if (!setting.sequence) return failure("cannot write %s: %s", path, sl_file_problem(&kind, errno));
    bool good = replay_all(program, &setting, 1, &result);
    fclose(setting.sequence);
    if (!good) return EXIT_FAILED;
    return result.status == SL_OK ? EXIT_OK
                                  : failure("cannot write %s: %s", path, sl_status_text(result.status));
}

struct order { /* what to do beside predicting */
    const char *sequence, *profile;
    uint64_t iterations;
    bool json, no_least, force;
};

static int predict(const char *path, const struct replay_program *program, const struct plan_wish *wish,
                   bool sought, const struct order *order)
{
    struct predictions predictions = {0};
    struct prediction least = {0};
    struct plan_report report = {program, &predictions, order->no_least ? NULL : &least, sought};
    int status = EXIT_FAILED;
    if (predictions_make(program, wish, &predictions) &&
        (order->no_least || plan_least_budget(program, wish, &predictions, &least)))
        status = EXIT_OK;
    if (status == EXIT_OK && order->sequence)
        status = write_sequence(program, wish, order->sequence, order->iterations);
    if (status == EXIT_OK && order->profile) {
        const struct prediction *fastest = predictions_fastest(&predictions);
        const struct prediction *best = least.setting.budget_bytes ? &least : fastest;
        status = best ? plan_write_profile(program->model, best, order->profile)
                      : failure("%s: no configuration could be tried", path);
    }
    if (status == EXIT_OK && order->json) plan_print_json(&report);
    if (status == EXIT_OK && !order->json && !plan_print_text(&report))
        status = failure("%s: out of memory", path);
    predictions_free(&predictions);
    return status;
}

static int plan(const char *path, const struct model *model, struct plan_wish *wish,
                const struct order *order)
{
    struct program_name name = program_name(&model->header);
    struct replay_program program = {0};
    bool sought = !wish->chunk_count;
    int status;
    if (!replay_prepare(model, &program)) {
        status = failure("%s: out of memory", path);
    } else if (program.border_count < 2) {
        status = failure("%s: no iteration of the program is in it, from its beginning to its end", path);
    } else {
        program.name = name.text;
        complete(wish, &program);
        status = predict(path, &program, wish, sought, order);
    }
    replay_eviction(&program);
    return status == EXIT_OK ? end_status(path, &model->problem) : status;
}

int command_plan(int argc, char **argv)
{
    struct order order = {.iterations = 1};
    struct plan_wish wish = {0};
    const char *budgets = NULL, *chunks = NULL, *policies = NULL, *links = NULL, *path;
    char allowed[128];
    uint64_t both_percent = DEFAULT_BOTH_PERCENT, transfer_us = 0, attempts = DEFAULT_ATTEMPTS;
    const struct command_option options[] = {
        {"budget", OPTION_TEXT, &budgets, "LIST",
         "Budgets: sizes, or shares of what the program needs (0.8,0.66,0.5,0.33,0.25)."},
        {"chunk", OPTION_TEXT, &chunks, "LIST",
         "Chunk sizes. Without it, those from 2 to 64 MiB are tried, and the best of each budget is shown."},
        {"policy", OPTION_TEXT, &policies, "LIST", "Policies, as for sluice run (plan)."},
        {"link-gbs", OPTION_TEXT, &links, "LIST",
         "Speeds of the link, each way, in GB/s. Without it, as it was measured, or 24."},
        {"backing", OPTION_TEXT, &wish.backing, "RULES",
         "Which allocations live in pinned host memory, as for sluice run (none)."},
        {"both", OPTION_NUMBER, &both_percent, "PERCENT",
         "What each direction has of its speed while both are in use (92)."},
        {"transfer-us", OPTION_NUMBER, &transfer_us, "N",
         "What a movement costs beside its bytes, in microseconds (0)."},
        {"plan-attempts", OPTION_NUMBER, &attempts, "N",
         "How many ways each plan tries, as for sluice run (8). More show what a longer run finds."},
        {"keep-copies", OPTION_SWITCH, &wish.keeps_copies,
         .help = "As if what is only read could leave without being copied back; no driver does that yet."},
        {"no-least", OPTION_SWITCH, &order.no_least,
         .help = "Do not look for the least budget: only the table."},
        {"profile", OPTION_TEXT, &order.profile, "OUT",
         "Write the least budget, its chunk size and the rules of --backing to OUT, for SLUICE_PROFILE."},
        {"sequence", OPTION_TEXT, &order.sequence, "OUT",
         "Write the last iteration as the core saw it, in chunks, to OUT, as JSON."},
        {"iterations", OPTION_NUMBER, &order.iterations, "N", "With --sequence: the last N of them (1)."},
        {"force", OPTION_SWITCH, &order.force, .help = FORCE_HELP},
        {"json", OPTION_SWITCH, &order.json, .help = "Print it as a JSON object."},
    };
    const struct command_syntax syntax = {
        .name = "plan",
        .synopsis = "[--budget LIST] [--chunk LIST] [--policy LIST] [--link-gbs LIST] [OPTION]... FILE",
        .about =
            "Predicts what the program of a trace would do with less device memory: the time of a step, the\n"
            "bytes that move, the stalls. The part of sluice that would move the data is run with the\n"
            "trace's allocations, launches and times; only the device is simulated. At the end it says how "
            "little\n"
            "memory costs at most 5 % of time. LIST: values separated by commas.\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    int status;
    if (!read_command_line(&syntax, argc, argv, &path, &status)) return status;
    if (!both_percent || both_percent > 100) return usage_error("--both: 1 to 100 per cent");
    if (transfer_us > 1000000) return usage_error("--transfer-us: at most 1000000");
    if (!order.iterations || order.iterations > REPLAY_ITERATIONS)
        return usage_error("--iterations: 1 to %d", REPLAY_ITERATIONS);
    if (wish.backing && !sl_options_check("SLUICE_BACKING", wish.backing, allowed, sizeof(allowed)))
        return usage_error("--backing %s is not allowed: it takes %s", wish.backing, allowed);
    wish.both_percent = (unsigned)both_percent;
    output_force(order.force);
    if (attempts > 100000) return usage_error("--plan-attempts: at most 100000");
    wish.transfer_ns = 1000 * transfer_us;
    wish.plan_attempts = (unsigned)attempts;
    struct model *model = NULL;
    bool understood =
        each("budget", "a share up to 1, or a size from 2 MiB such as 8G", budgets, take_budget, &wish) &&
        each("chunk", "a power of two from 2 MiB to 1 GiB", chunks, take_chunk, &wish) &&
        each("policy", "a policy of sluice run but off", policies, take_policy, &wish) &&
        each("link-gbs", "a speed from 0.001 to 1000000", links, take_link, &wish);
    status = understood ? model_open(path, &model) : EXIT_USAGE;
    if (status == EXIT_OK) status = plan(path, model, &wish, &order);
    model_close(model);
    forget(&wish);
    return status;
}
