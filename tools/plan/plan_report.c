#include "tools/plan/plan_report.h"

#include <inttypes.h>

#include "base/text.h"
#include "tools/text/json.h"
#include "tools/text/table.h"

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
    table_bytes(table, steady->remote_bytes_used);
    table_time(table, steady->stall_ns);
    table_cell(table, "%" PRIu64, steady->missed);
}

static bool print_table(const struct plan_report *report)
{
    const struct predictions *predictions = report->predictions;
    static const struct table_column columns[] = {
        {"budget"}, {"share"},     {"chunk"},  {"policy", .text = true},
        {"GB/s"},   {"step"},      {"slower"}, {"in"},
        {"out"},    {"zero-copy"}, {"stall"},  {"misses"}};
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(*columns)};
    for (size_t i = 0; i < predictions->count; i++)
        if (!report->sought || predictions->at[i].best) add_row(&table, &predictions->at[i]);
    bool good = table_print(&table, stdout);
    table_free(&table);
    return good;
}

/* What is lost between the ends of allocations and those of chunks. */
static void print_waste(const struct plan_report *report)
{
    const struct predictions *predictions = report->predictions;
    const struct replay_setting *first = &predictions->at[0].setting;
    char chunk[SL_BYTES_TEXT];
    const char *before = "\nMore than the allocations themselves, chunks need: ";
    for (size_t i = 0; i < predictions->count; i++) {
        const struct prediction *one = &predictions->at[i];
        if (one->budget != predictions->at[0].budget || one->setting.policy != first->policy ||
            one->setting.in_bytes_per_s != first->in_bytes_per_s || !report->program->peak_bytes)
            continue;
        double more = (double)one->need_bytes / (double)report->program->peak_bytes - 1;
        printf("%s%.1f %% of %s", before, 100 * more, sl_bytes_text(one->setting.chunk_bytes, chunk));
        before = ", ";
    }
    puts(".");
}

static void print_program(const struct plan_report *report)
{
    const struct replay_program *program = report->program;
    printf("%u %s of %" PRIu32 " launches in all were replayed%s.\n",
           report->predictions->at[0].result.iteration_count, program->steps ? "steps" : "iterations",
           program->launches, program->whole ? "" : ", the trace's first");
    if (program->lost)
        printf("%" PRIu64 " records are lost there: the figures may be wrong.\n", program->lost);
    if (program->guessed)
        printf("%" PRIu64 " of the launches were not timed, nor others like them: their times are guessed.\n",
               program->guessed);
}

/* Shares: what was looked at are samples. Chunks have room in them that nobody uses. */
static void print_left(const struct replay_result *result)
{
    uint64_t all = 0;
    const char *before = "What leaves: ";
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

static void print_least(const struct prediction *least)
{
    char budget[SL_BYTES_TEXT], chunk[SL_BYTES_TEXT], rest[SL_BYTES_TEXT], in[SL_BYTES_TEXT],
        out[SL_BYTES_TEXT];
    if (least->need_bytes <= replay_least_budget()) {
        printf("\nThe program needs no more than %s, the least budget that there is.\n",
               sl_bytes_text(replay_least_budget(), budget));
        return;
    }
    if (!least->setting.budget_bytes) {
        printf("\nLess memory than is needed always costs more than %d %%.\n", PLAN_TOLERANCE_PERCENT);
        return;
    }
    uint64_t away = least->need_bytes - least->setting.budget_bytes;
    printf("\nAt most %d %% more time: %s are enough, in chunks of %s. %s are away at a time; %s come and %s "
           "leave in "
           "each %s.\n",
           PLAN_TOLERANCE_PERCENT, sl_bytes_text(least->setting.budget_bytes, budget),
           sl_bytes_text(least->setting.chunk_bytes, chunk), sl_bytes_text(away, rest),
           sl_bytes_text(least->result.steady.bytes_in, in),
           sl_bytes_text(least->result.steady.bytes_out, out), "step");
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
    printf("%s of device memory are needed; a step takes %s with all of it on the device\n\n",
           sl_bytes_text(report->program->peak_bytes, need), time_text(first->resident_ns, time));
    if (!print_table(report)) return false;
    print_waste(report);
    print_program(report);
    if (report->least) print_least(report->least);
    return true;
}

static void print_iteration(struct json *json, const struct replay_iteration *iteration)
{
    json_number(json, "step_ns", iteration->took_ns);
    json_number(json, "bytes_in", iteration->bytes_in);
    json_number(json, "bytes_out", iteration->bytes_out);
    json_number(json, "remote_bytes", iteration->remote_bytes_used);
    json_number(json, "stall_ns", iteration->stall_ns);
    json_number(json, "longer_ns", iteration->longer_ns);
    json_number(json, "launches", iteration->launches);
    json_number(json, "demand_misses", iteration->misses);
    json_number(json, "missed_launches", iteration->missed);
}

static void print_prediction(struct json *json, const char *key, const struct prediction *one)
{
    json_object(json, key, false);
    json_number(json, "budget_bytes", one->setting.budget_bytes);
    json_number(json, "need_bytes", one->need_bytes);
    json_number(json, "chunk_bytes", one->setting.chunk_bytes);
    json_text(json, "policy", one->setting.policy);
    if (one->setting.backing) json_text(json, "backing", one->setting.backing);
    json_number(json, "link_in", one->setting.in_bytes_per_s);
    json_number(json, "link_out", one->setting.out_bytes_per_s);
    json_number(json, "resident_ns", one->resident_ns);
    print_iteration(json, &one->result.steady);
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
        print_iteration(json, &one->result.iterations[i]);
        json_close(json);
    }
    json_close(json);
    json_close(json);
}

void plan_print_json(const struct plan_report *report)
{
    const struct replay_program *program = report->program;
    struct json json = {.to = stdout};
    json_object(&json, NULL, true);
    json_bool(&json, "complete", program->model->problem.status == SL_OK);
    json_bool(&json, "steps", program->steps);
    json_number(&json, "launches", program->launches);
    json_number(&json, "guessed", program->guessed);
    json_number(&json, "peak_bytes", program->peak_bytes);
    json_array(&json, "predictions", true);
    for (size_t i = 0; i < report->predictions->count; i++)
        print_prediction(&json, NULL, &report->predictions->at[i]);
    json_close(&json);
    if (report->least && report->least->setting.budget_bytes) print_prediction(&json, "least", report->least);
    json_close(&json);
}
