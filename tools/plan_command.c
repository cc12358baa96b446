/* `sluice plan`: what a budget, a chunk size, a policy, a link would cost a program that was traced. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command_line.h"
#include "json.h"
#include "options.h"
#include "plan_search.h"
#include "table.h"
#include "text.h"
#include "tool.h"
#include "trace.h"

enum {
    DEFAULT_LINK_GBS = 24, /* PCIe 4 x16 */
    DEFAULT_BOTH_PERCENT = 92,
};

/* --- what is asked for */

/* Calls take for each part of a list. */
static bool each(const char *option, const char *list, bool (*take)(struct plan_wish *, const char *word),
                 struct plan_wish *wish)
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
            usage_error("--%s %s: see sluice plan --help", option, list);
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

static void complete(struct plan_wish *wish, const struct model *model)
{
    static const double shares[] = {0.8, 0.66, 0.5, 0.33, 0.25};
    uint64_t assumed = (uint64_t)DEFAULT_LINK_GBS * 1000000000;
    if (!wish->budget_count)
        for (unsigned i = 0; i < sizeof(shares) / sizeof(*shares); i++)
            wish->budgets[wish->budget_count++].share = shares[i];
    if (!wish->chunk_count) {
        uint64_t chunk = model->chunk_bytes;
        bool good = chunk >= SL_BLOCK_BYTES && chunk <= SL_GIB && !(chunk & (chunk - 1));
        wish->chunks[wish->chunk_count++] = good ? chunk : SL_BLOCK_BYTES;
    }
    if (!wish->policy_count) wish->policies[wish->policy_count++] = strdup("plan");
    if (!wish->link_count)
        wish->links[wish->link_count++] = (struct plan_link){model->link_in ? model->link_in : assumed,
                                                             model->link_out ? model->link_out : assumed};
}

static void forget(struct plan_wish *wish)
{
    for (unsigned p = 0; p < wish->policy_count; p++) free((char *)wish->policies[p]);
}

/* --- what is said */

static void add_row(struct table *table, const struct prediction *one)
{
    const struct replay_iteration *steady = &one->result.steady;
    table_bytes(table, one->setting.budget_bytes);
    table_cell(table, "%.2f", (double)one->setting.budget_bytes / (double)one->need_bytes);
    table_bytes(table, one->setting.chunk_bytes);
    table_cell(table, "%s", one->setting.policy);
    table_cell(table, "%.1f", (double)one->setting.in_bytes_per_s * 1e-9);
    if (one->result.status != SL_OK) {
        for (int i = 0; i < 7; i++) table_cell(table, "-");
        return;
    }
    table_time(table, steady->took_ns);
    table_cell(table, "%.2f", (double)steady->took_ns / (double)one->resident_ns);
    table_bytes(table, steady->bytes_in);
    table_bytes(table, steady->bytes_out);
    table_bytes(table, steady->in_place_bytes);
    table_time(table, steady->stall_ns);
    table_cell(table, "%" PRIu64, steady->missed);
}

static bool print_table(const struct predictions *predictions)
{
    static const struct table_column columns[] = {
        {"budget"}, {"share"},    {"chunk"},  {"policy", .text = true},
        {"GB/s"},   {"step"},     {"slower"}, {"in"},
        {"out"},    {"in place"}, {"stall"},  {"misses"}};
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(*columns)};
    for (size_t i = 0; i < predictions->count; i++) add_row(&table, &predictions->at[i]);
    bool good = table_print(&table, stdout);
    table_free(&table);
    return good;
}

static bool print_text(const struct replay_program *program, const struct predictions *predictions)
{
    char need[SL_BYTES_TEXT], time[TIME_TEXT];
    const struct prediction *first = &predictions->at[0];
    printf("%s of device memory are needed; a step takes %s with all of it on the device\n\n",
           sl_bytes_text(first->need_bytes, need), time_text(first->resident_ns, time));
    if (!print_table(predictions)) return false;
    printf("\n%u %s of %" PRIu32 " launches in all were replayed%s.\n", first->result.iteration_count,
           program->steps ? "steps" : "iterations", program->launches,
           program->whole ? "" : ", the trace's first");
    if (program->guessed)
        printf("%" PRIu64 " of the launches were not timed, nor others like them: their times are guessed.\n",
               program->guessed);
    return true;
}

static void print_iterations(struct json *json, const struct replay_result *result)
{
    json_array(json, "each", false);
    for (uint32_t i = 0; i < result->iteration_count; i++) {
        const struct replay_iteration *iteration = &result->iterations[i];
        json_object(json, NULL, false);
        json_number(json, "step_ns", iteration->took_ns);
        json_number(json, "launches", iteration->launches);
        json_number(json, "missed_launches", iteration->missed);
        json_close(json);
    }
    json_close(json);
}

static void print_prediction(struct json *json, const struct prediction *one)
{
    const struct replay_iteration *steady = &one->result.steady;
    json_object(json, NULL, false);
    json_number(json, "budget_bytes", one->setting.budget_bytes);
    json_number(json, "need_bytes", one->need_bytes);
    json_number(json, "chunk_bytes", one->setting.chunk_bytes);
    json_text(json, "policy", one->setting.policy);
    json_number(json, "link_in", one->setting.in_bytes_per_s);
    json_number(json, "link_out", one->setting.out_bytes_per_s);
    json_number(json, "resident_ns", one->resident_ns);
    json_number(json, "step_ns", steady->took_ns);
    json_number(json, "bytes_in", steady->bytes_in);
    json_number(json, "bytes_out", steady->bytes_out);
    json_number(json, "in_place_bytes", steady->in_place_bytes);
    json_number(json, "stall_ns", steady->stall_ns);
    json_number(json, "longer_ns", steady->longer_ns);
    json_number(json, "launches", steady->launches);
    json_number(json, "demand_misses", steady->misses);
    json_number(json, "missed_launches", steady->missed);
    json_number(json, "oversize_launches", one->result.oversize);
    json_number(json, "iterations", one->result.iteration_count);
    print_iterations(json, &one->result);
    json_close(json);
}

static void print_json(const struct replay_program *program, const struct predictions *predictions)
{
    struct json json = {.to = stdout};
    json_object(&json, NULL, true);
    json_bool(&json, "complete", program->model->problem.status == SL_OK);
    json_bool(&json, "steps", program->steps);
    json_number(&json, "launches", program->launches);
    json_number(&json, "guessed", program->guessed);
    json_number(&json, "peak_bytes", program->peak_bytes);
    json_array(&json, "predictions", true);
    for (size_t i = 0; i < predictions->count; i++) print_prediction(&json, &predictions->at[i]);
    json_close(&json);
    json_close(&json);
}

/* --- the command */

/* Writes iterations with everything on the device, in chunks of the first size. */
static int write_sequence(const struct replay_program *program, const struct plan_wish *wish,
                          const char *path, uint64_t iterations)
{
    struct replay_setting setting = {.chunk_bytes = wish->chunks[0],
                                     .policy = "demand",
                                     .in_bytes_per_s = wish->links[0].in_bytes_per_s,
                                     .out_bytes_per_s = wish->links[0].out_bytes_per_s,
                                     .both_percent = wish->both_percent,
                                     .sequence = fopen(path, "we"),
                                     .sequence_iterations = (uint32_t)iterations};
    struct replay_result result;
    if (!setting.sequence) return failure("cannot write %s: %s", path, strerror(errno));
    bool good = replay_all(program, &setting, 1, &result);
    fclose(setting.sequence);
    if (!good) return EXIT_FAILED;
    return result.status == SL_OK ? EXIT_OK
                                  : failure("cannot write %s: %s", path, sl_status_text(result.status));
}

static int predict(const char *path, const struct model *model, const struct plan_wish *wish,
                   const char *sequence, uint64_t sequence_iterations, bool json)
{
    struct program_name name = program_name(&model->header);
    struct replay_program program = {0};
    struct predictions predictions = {0};
    int status = EXIT_FAILED;
    if (!replay_prepare(model, &program))
        failure("%s: out of memory", path);
    else if (program.border_count < 2)
        failure("%s: no iteration of the program is in it, from its beginning to its end", path);
    else if (predictions_make(&program, wish, &predictions))
        status = EXIT_OK;
    program.name = name.text;
    if (status == EXIT_OK && sequence) status = write_sequence(&program, wish, sequence, sequence_iterations);
    if (status == EXIT_OK && json) print_json(&program, &predictions);
    if (status == EXIT_OK && !json && !print_text(&program, &predictions))
        status = failure("%s: out of memory", path);
    predictions_free(&predictions);
    replay_release(&program);
    return status == EXIT_OK ? end_status(path, &model->problem) : status;
}

int command_plan(int argc, char **argv)
{
    bool json = false;
    const char *budgets = NULL, *chunks = NULL, *policies = NULL, *links = NULL, *sequence = NULL, *path;
    uint64_t both_percent = DEFAULT_BOTH_PERCENT, iterations = 1;
    const struct command_option options[] = {
        {"budget", OPTION_TEXT, &budgets, "LIST",
         "Budgets: sizes, or shares of what the program needs (0.8,0.66,0.5,0.33,0.25)."},
        {"chunk", OPTION_TEXT, &chunks, "LIST", "Chunk sizes. Without it, the one that was recorded."},
        {"policy", OPTION_TEXT, &policies, "LIST", "Policies, as for sluice run (plan)."},
        {"link-gbs", OPTION_TEXT, &links, "LIST",
         "Speeds of the link, each way, in GB/s. Without it, as it was measured, or 24."},
        {"both", OPTION_NUMBER, &both_percent, "PERCENT",
         "What each direction has of its speed while both are in use (92)."},
        {"sequence", OPTION_TEXT, &sequence, "OUT",
         "Write the last iteration as the core saw it, in chunks, to OUT, as JSON."},
        {"iterations", OPTION_NUMBER, &iterations, "N", "With --sequence: the last N of them (1)."},
        {"json", OPTION_SWITCH, &json, .help = "Print it as a JSON object."},
    };
    const struct command_syntax syntax = {
        .name = "plan",
        .synopsis = "[--budget LIST] [--chunk LIST] [--policy LIST] [--link-gbs LIST] [--json] FILE",
        .about =
            "Predicts what the program of a trace would do with less device memory: the time of a step, the\n"
            "bytes that move, the stalls. The part of sluice that would move the data is run with the\n"
            "trace's allocations, launches and times; only the device is simulated. LIST: values separated\n"
            "by commas.\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    int status;
    if (!read_command_line(&syntax, argc, argv, &path, &status)) return status;
    if (!both_percent || both_percent > 100) return usage_error("--both: 1 to 100 per cent");
    if (!iterations || iterations > REPLAY_ITERATIONS)
        return usage_error("--iterations: 1 to %d", REPLAY_ITERATIONS);
    struct plan_wish wish = {.both_percent = (unsigned)both_percent};
    struct model *model = NULL;
    bool understood =
        each("budget", budgets, take_budget, &wish) && each("chunk", chunks, take_chunk, &wish) &&
        each("policy", policies, take_policy, &wish) && each("link-gbs", links, take_link, &wish);
    status = understood ? model_open(path, &model) : EXIT_USAGE;
    if (status == EXIT_OK) {
        complete(&wish, model);
        status = predict(path, model, &wish, sequence, iterations, json);
    }
    model_close(model);
    forget(&wish);
    return status;
}
