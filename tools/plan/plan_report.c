#include "tools/plan/plan_report.h"

#include <inttypes.h>

#include "base/text.h"
#include "move/stats.h"
#include "tools/plan/plan_bound.h"
#include "tools/plan/plan_driver.h"
#include "tools/plan/plan_job.h"
#include "tools/text/json.h"
#include "tools/text/table.h"

enum { BLANKS = 8, BLANKS_OF_RANKS };

static bool has_ranks(const struct plan_report *report)
{
    return report->job->count > 1;
}

/* What moving memory takes of host and link in a step; of several ranks, of the one that has most. */
static struct sl_moving moving_of(const struct prediction *one)
{
    const struct replay_iteration *steady = &one->result.steady;
    const struct sl_sim_driver driver = replay_driver(&one->setting);
    struct sl_moving moving = {
        .ns = steady->took_ns,
        .stall_ns = steady->stall_ns,
        .bytes = {steady->bytes_in, steady->bytes_out},
        .call_ns = {steady->moving_in_ns, steady->moving_out_ns},
        .bytes_per_s = {one->setting.in_bytes_per_s, one->setting.out_bytes_per_s},
        .threads = {sl_sim_driver_threads(&driver, SL_SIM_IN), sl_sim_driver_threads(&driver, SL_SIM_OUT)},
    };
    sl_moving_judge(&moving);
    return moving;
}

static void add_row(struct table *table, const struct prediction *one, bool ranks)
{
    const struct replay_iteration *steady = &one->result.steady;
    table_bytes(table, one->setting.budget_bytes);
    table_cell(table, "%.2f", (double)one->setting.budget_bytes / (double)one->need_bytes);
    table_bytes(table, one->setting.chunk_bytes);
    table_cell(table, "%s", one->setting.policy);
    table_cell(table, "%.1f", (double)one->setting.in_bytes_per_s * 1e-9);
    if (one->result.status != SL_OK) {
        for (int i = 0; i < (ranks ? BLANKS_OF_RANKS : BLANKS); i++) table_cell(table, "-");
        return;
    }
    table_time(table, steady->took_ns);
    table_cell(table, "%.2f", (double)steady->took_ns / (double)one->resident_ns);
    table_bytes(table, steady->bytes_in);
    table_bytes(table, steady->bytes_out);
    table_bytes(table, steady->remote_bytes_used);
    table_time(table, steady->stall_ns);
    if (ranks) table_time(table, steady->waited_ns);
    table_cell(table, "%" PRIu64, steady->missed);
    table_cell(table, "%.2f", moving_of(one).cores);
}

static bool print_table(const struct plan_report *report)
{
    const struct predictions *predictions = report->predictions;
    static const struct table_column columns[] = {
        {"budget"}, {"share"},     {"chunk"},  {"policy", .text = true},
        {"GB/s"},   {"step"},      {"slower"}, {"in"},
        {"out"},    {"zero-copy"}, {"stall"},  {"misses"},
        {"cores"}};
    static const struct table_column of_ranks[] = {
        {"budget"}, {"share"},     {"chunk"},  {"policy", .text = true},
        {"GB/s"},   {"step"},      {"slower"}, {"in"},
        {"out"},    {"zero-copy"}, {"stall"},  {"waited"},
        {"misses"}, {"cores"}};
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(*columns)};
    if (has_ranks(report))
        table = (struct table){.columns = of_ranks, .column_count = sizeof(of_ranks) / sizeof(*of_ranks)};
    for (size_t i = 0; i < predictions->count; i++)
        if (!report->sought || predictions->at[i].best)
            add_row(&table, &predictions->at[i], has_ranks(report));
    bool good = table_print(&table, stdout);
    table_free(&table);
    return good;
}

/* Prints the ranks' results for the least budget of the table. */
static bool print_ranks(const struct plan_report *report)
{
    static const struct table_column columns[] = {{"rank"},  {"in"},     {"out"},   {"zero-copy"},
                                                  {"stall"}, {"waited"}, {"misses"}};
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(*columns)};
    const struct prediction *least = NULL;
    char budget[SL_BYTES_TEXT];
    for (size_t i = 0; i < report->predictions->count; i++) {
        const struct prediction *one = &report->predictions->at[i];
        if (!one->of_rank || one->result.status != SL_OK || (report->sought && !one->best)) continue;
        if (!least || one->setting.budget_bytes < least->setting.budget_bytes) least = one;
    }
    if (!least) return true;
    printf("\nWith %s, a step of each rank:\n\n", sl_bytes_text(least->setting.budget_bytes, budget));
    for (size_t r = 0; r < report->job->count; r++) {
        const struct replay_iteration *steady = &least->of_rank[r].steady;
        table_cell(&table, "%zu", r);
        table_bytes(&table, steady->bytes_in);
        table_bytes(&table, steady->bytes_out);
        table_bytes(&table, steady->remote_bytes_used);
        table_time(&table, steady->stall_ns);
        table_time(&table, steady->waited_ns);
        table_cell(&table, "%" PRIu64, steady->missed);
    }
    bool good = table_print(&table, stdout);
    table_free(&table);
    return good;
}

/* The unused ends of chunks. */
static void print_waste(const struct plan_report *report)
{
    const struct predictions *predictions = report->predictions;
    const struct replay_setting *first = &predictions->at[0].setting;
    char chunk[SL_BYTES_TEXT];
    const char *before = "\nOverhead of chunks over the allocations themselves: ";
    for (size_t i = 0; i < predictions->count; i++) {
        const struct prediction *one = &predictions->at[i];
        if (one->budget != predictions->at[0].budget || one->setting.policy != first->policy ||
            one->setting.in_bytes_per_s != first->in_bytes_per_s || !plan_job_peak(report->job))
            continue;
        double more = (double)one->need_bytes / (double)plan_job_peak(report->job) - 1;
        printf("%s%.1f %% with %s", before, 100 * more, sl_bytes_text(one->setting.chunk_bytes, chunk));
        before = ", ";
    }
    puts(".");
}

/* The launches that were replayed, and those of them whose times are guessed. */
static void count_launches(const struct plan_report *report, uint64_t *launches, uint64_t *guessed)
{
    *launches = *guessed = 0;
    for (size_t r = 0; r < report->job->count; r++) {
        *launches += report->job->ranks[r].launches;
        *guessed += report->job->ranks[r].guessed;
    }
}

/* The share of the launches' time that is guessed. */
static unsigned guessed_percent(const struct plan_report *report)
{
    double guessed = 0, all = 0;
    for (size_t r = 0; r < report->job->count; r++) {
        guessed += (double)report->job->ranks[r].guessed_ns;
        all += (double)report->job->ranks[r].all_ns;
    }
    return all > 0 ? (unsigned)(100 * guessed / all + 0.5) : 0;
}

static void print_program(const struct plan_report *report)
{
    const struct replay_program *first = report->job->ranks;
    uint64_t launches, guessed, lost = 0;
    bool whole = true;
    count_launches(report, &launches, &guessed);
    for (size_t r = 0; r < report->job->count; r++) {
        lost += first[r].lost;
        whole = whole && first[r].whole;
    }
    printf("%u %s of %" PRIu64 " launches in total were replayed%s.\n",
           report->predictions->at[0].result.iteration_count, first->steps ? "steps" : "iterations", launches,
           whole               ? ""
           : has_ranks(report) ? ", the first ones of the traces"
                               : ", the first ones of the trace");
    plan_tell_clock(stdout);
    const struct sl_sim_driver driver = replay_driver(&report->predictions->at[0].setting);
    plan_tell_driver(stdout, &driver);
    if (lost) printf("%" PRIu64 " records of this part are lost: the figures may be wrong.\n", lost);
    if (guessed)
        printf(
            "%" PRIu64
            " of the launches have no measured time, nor have similar launches: their times are guessed.\n",
            guessed);
}

/* Prints what is unknown about the ranks' meetings. */
static void print_meetings(const struct plan_report *report)
{
    const struct replay_meetings *meetings = report->job->meetings;
    uint64_t alone = 0, all = 0, missed = 0;
    if (!meetings) return;
    for (size_t r = 0; r < meetings->ranks; r++) {
        alone += meetings->alone[r];
        all += report->job->ranks[r].model->collectives.count;
    }
    for (size_t i = 0; i < report->predictions->count; i++)
        if (report->predictions->at[i].result.missed_meetings > missed)
            missed = report->predictions->at[i].result.missed_meetings;
    printf("The ranks meet at %" PRIu32 " collectives%s.\n", meetings->count - 1,
           report->predictions->at[0].setting.meets_over_link ? ", which use the link to the host" : "");
    if (alone)
        printf("%" PRIu64 " of %" PRIu64 " records of collectives, sends and receives have no counterpart "
               "in the other traces: they take their measured time.\n",
               alone, all);
    if (meetings->unlike)
        printf("%" PRIu64 " communicators: the ranks' collectives differ from some point on; the ranks meet "
               "up to that point.\n",
               meetings->unlike);
    if (missed) printf("%" PRIu64 " meetings began without a rank that was waiting elsewhere.\n", missed);
}

/* Prints shares, because only samples are known. Chunks contain unused room. */
static void print_left(const struct replay_result *result)
{
    uint64_t all = 0;
    const char *before = "Evicted: ";
    for (unsigned c = 0; c < CLASS_COUNT; c++) all += result->left[c];
    for (unsigned i = 1; i <= CLASS_COUNT; i++) {
        unsigned c = i % CLASS_COUNT; /* CLASS_UNKNOWN is last */
        if (!all || !(result->left[c] * 100 / all)) continue;
        printf("%s%s %" PRIu64 " %%", before, c == CLASS_UNKNOWN ? "unused or unknown" : class_name(c),
               result->left[c] * 100 / all);
        before = ", ";
    }
    if (all) puts(".");
}

/* Nothing is predicted of budgets in which all of the program fits. */
static void print_too_large(const struct predictions *predictions)
{
    char budget[SL_BYTES_TEXT];
    for (size_t i = 0; i < predictions->count; i++) {
        const struct prediction *one = &predictions->at[i];
        if (one->setting.budget_bytes <= one->need_bytes || one->need_bytes <= replay_least_budget())
            continue;
        printf("\nThe program fits into %s, so sluice moves nothing there.\n",
               sl_bytes_text(one->setting.budget_bytes, budget));
        return;
    }
}

static void print_least(const struct prediction *least)
{
    char budget[SL_BYTES_TEXT], chunk[SL_BYTES_TEXT], rest[SL_BYTES_TEXT], in[SL_BYTES_TEXT],
        out[SL_BYTES_TEXT];
    if (least->need_bytes <= replay_least_budget()) {
        printf("\nThe program needs no more than %s, the smallest budget possible.\n",
               sl_bytes_text(replay_least_budget(), budget));
        return;
    }
    if (!least->setting.budget_bytes) {
        printf("\nEvery budget below the need costs more than %d %% of time.\n", PLAN_TOLERANCE_PERCENT);
        return;
    }
    uint64_t away = least->need_bytes - least->setting.budget_bytes;
    printf("\nAt most %d %% more time: a budget of %s is enough, with chunks of %s. %s are off the device at "
           "a time; each step moves %s in and %s out.\n",
           PLAN_TOLERANCE_PERCENT, sl_bytes_text(least->setting.budget_bytes, budget),
           sl_bytes_text(least->setting.chunk_bytes, chunk), sl_bytes_text(away, rest),
           sl_bytes_text(least->result.steady.bytes_in, in),
           sl_bytes_text(least->result.steady.bytes_out, out));
    print_left(&least->result);
    printf("sluice run --budget %" PRIu64 "M --chunk %" PRIu64 "M", least->setting.budget_bytes / SL_MIB,
           least->setting.chunk_bytes / SL_MIB);
    if (least->setting.backing) printf(" --backing %s", least->setting.backing);
    putchar('\n');
}

bool plan_print_text(const struct plan_report *report)
{
    char need[SL_BYTES_TEXT], time[TIME_TEXT];
    const struct prediction *first = &report->predictions->at[0];
    if (has_ranks(report))
        printf("%zu ranks: each needs up to ", report->job->count);
    else
        fputs("the program needs ", stdout);
    printf("%s of device memory; a step takes %s with all of it on the device\n",
           sl_bytes_text(plan_job_peak(report->job), need), time_text(first->resident_ns, time));
    if (guessed_percent(report) > REPLAY_GUESSED_PERCENT)
        printf("These step times may be off: %u %% of the launches' time is guessed.\n"
               "sluice run --trace-sample 1 --trace FILE -- COMMAND records it.\n",
               guessed_percent(report));
    if (replay_doubt(report->job->ranks)) puts(replay_doubt(report->job->ranks));
    putchar('\n');
    if (!print_table(report) || !print_ranks(report)) return false;
    if (report->bound && !plan_bound_print(report->predictions, report->sought)) return false;
    print_waste(report);
    print_program(report);
    print_meetings(report);
    print_too_large(report->predictions);
    if (report->least) print_least(report->least);
    return true;
}

static void print_iteration(struct json *json, const struct replay_iteration *iteration, bool ranks)
{
    json_number(json, "step_ns", iteration->took_ns);
    json_number(json, "bytes_in", iteration->bytes_in);
    json_number(json, "bytes_out", iteration->bytes_out);
    json_number(json, "remote_bytes", iteration->remote_bytes_used);
    json_number(json, "stall_ns", iteration->stall_ns);
    json_number(json, "moving_in_ns", iteration->moving_in_ns);
    json_number(json, "moving_out_ns", iteration->moving_out_ns);
    json_number(json, "longer_ns", iteration->longer_ns);
    if (ranks) json_number(json, "waited_ns", iteration->waited_ns);
    json_number(json, "launches", iteration->launches);
    json_number(json, "demand_misses", iteration->misses);
    json_number(json, "missed_launches", iteration->missed);
}

static void print_of_rank(struct json *json, const struct replay_result *result)
{
    json_object(json, NULL, false);
    json_number(json, "need_bytes", result->need_bytes);
    print_iteration(json, &result->steady, true);
    json_number(json, "oversize_launches", result->oversize);
    json_close(json);
}

/* `rank_count`: number of ranks that were replayed together. */
static void print_prediction(struct json *json, const char *key, const struct prediction *one,
                             size_t rank_count)
{
    bool ranks = rank_count > 1;
    json_object(json, key, false);
    json_number(json, "budget_bytes", one->setting.budget_bytes);
    json_number(json, "need_bytes", one->need_bytes);
    json_number(json, "chunk_bytes", one->setting.chunk_bytes);
    json_text(json, "policy", one->setting.policy);
    if (one->setting.backing) json_text(json, "backing", one->setting.backing);
    json_number(json, "link_in", one->setting.in_bytes_per_s);
    json_number(json, "link_out", one->setting.out_bytes_per_s);
    const struct sl_sim_driver driver = replay_driver(&one->setting);
    plan_print_driver(json, &driver);
    json_number(json, "resident_ns", one->resident_ns);
    print_iteration(json, &one->result.steady, ranks);
    const struct sl_moving moving = moving_of(one);
    json_real(json, "host_cores", moving.cores, 3);
    json_real(json, "link_part_in", moving.link[0], 3);
    json_real(json, "link_part_out", moving.link[1], 3);
    json_text(json, "limit", moving.limit);
    if (one->setting.find_least && one->result.status == SL_OK) plan_bound_json(json, one);
    json_bool(json, "best", one->best);
    json_number(json, "oversize_launches", one->result.oversize);
    json_number(json, "iterations", one->result.iteration_count);
    json_object(json, "left_bytes", false);
    for (unsigned c = 0; c < CLASS_COUNT; c++)
        if (one->result.left[c]) json_number(json, class_name(c), one->result.left[c]);
    json_close(json);
    json_array(json, "each", false);
    for (uint32_t i = 0; i < one->result.iteration_count; i++) {
        json_object(json, NULL, false);
        print_iteration(json, &one->result.iterations[i], ranks);
        json_close(json);
    }
    json_close(json);
    if (one->of_rank) {
        json_array(json, "ranks", false);
        for (size_t r = 0; r < rank_count; r++) print_of_rank(json, &one->of_rank[r]);
        json_close(json);
    }
    json_close(json);
}

static void print_job(struct json *json, const struct plan_report *report)
{
    const struct replay_meetings *meetings = report->job->meetings;
    if (!meetings) return;
    json_array(json, "ranks", true);
    for (size_t r = 0; r < report->job->count; r++) {
        const struct replay_program *program = &report->job->ranks[r];
        json_object(json, NULL, false);
        json_text(json, "file", report->paths[r]);
        json_number(json, "launches", program->launches);
        json_number(json, "guessed", program->guessed);
        json_number(json, "peak_bytes", program->peak_bytes);
        json_number(json, "collectives", program->model->collectives.count);
        json_number(json, "unmatched_collectives", meetings->alone[r]);
        json_close(json);
    }
    json_close(json);
    json_number(json, "meetings", meetings->count - 1);
    json_number(json, "unlike_communicators", meetings->unlike);
    json_number(json, "missed_meetings", report->predictions->at[0].result.missed_meetings);
    json_bool(json, "meetings_over_link", report->predictions->at[0].setting.meets_over_link);
}

void plan_json(struct json *json, const char *key, const struct plan_report *report)
{
    size_t ranks = report->job->count;
    uint64_t launches, guessed;
    bool complete = true;
    count_launches(report, &launches, &guessed);
    for (size_t r = 0; r < ranks; r++) {
        complete = complete && report->job->ranks[r].model->problem.status == SL_OK;
    }
    json_object(json, key, true);
    json_bool(json, "complete", complete);
    json_bool(json, "steps", report->job->ranks->steps);
    json_text(json, "doubt", replay_doubt(report->job->ranks));
    json_number(json, "launches", launches);
    json_number(json, "guessed", guessed);
    json_number(json, "peak_bytes", plan_job_peak(report->job));
    print_job(json, report);
    json_array(json, "predictions", true);
    for (size_t i = 0; i < report->predictions->count; i++)
        print_prediction(json, NULL, &report->predictions->at[i], ranks);
    json_close(json);
    if (report->least && report->least->setting.budget_bytes)
        print_prediction(json, "least", report->least, ranks);
    json_close(json);
}
