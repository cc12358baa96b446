#include "tools/views/info_ranks.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tools/analyses/info.h"
#include "tools/analyses/ranks.h"
#include "tools/analyses/residency.h"
#include "tools/model/trace_open.h"
#include "tools/text/json.h"
#include "tools/text/messages.h"
#include "tools/text/table.h"

/* The figures of one rank, or of all ranks. */
struct row {
    uint64_t launches, step_ns; /* the median step; for all ranks, the longest */
    uint64_t need_bytes;        /* the most memory that the program held */
    uint64_t budget_bytes, peak_bytes, in_bytes, out_bytes;
    uint64_t stalls, stall_ns, collectives, compared, waited_ns;
};

struct view {
    const struct job *job;
    struct row *rows, all;
};

static uint64_t sum(const struct count_bytes of_cause[MOVE_CAUSES])
{
    uint64_t bytes = 0;
    for (unsigned cause = 0; cause < MOVE_CAUSES; cause++) bytes += of_cause[cause].bytes;
    return bytes;
}

static bool make_row(const struct model *model, struct row *row)
{
    struct phases phases = {0};
    struct info info;
    bool good = phases_find(model, &phases) && info_make(model, &phases, &info) &&
                residency_peak(model, &row->peak_bytes);
    phases_free(&phases);
    if (!good) return false;
    row->launches = info.launch_count;
    row->step_ns = info.step_times.median;
    row->need_bytes = info.peak_bytes;
    row->budget_bytes = model->budget_bytes;
    row->in_bytes = sum(info.moves[SL_ACTION_FETCH]);
    row->out_bytes = sum(info.moves[SL_ACTION_EVICT]);
    row->stalls = info.stalls;
    row->stall_ns = info.stall_ns;
    return true;
}

static void add_to_all(struct row *all, const struct row *row)
{
    all->launches += row->launches;
    if (row->step_ns > all->step_ns) all->step_ns = row->step_ns;
    all->need_bytes += row->need_bytes;
    all->budget_bytes += row->budget_bytes;
    all->peak_bytes += row->peak_bytes;
    all->in_bytes += row->in_bytes;
    all->out_bytes += row->out_bytes;
    all->stalls += row->stalls;
    all->stall_ns += row->stall_ns;
    all->collectives += row->collectives;
    all->compared += row->compared;
    all->waited_ns += row->waited_ns;
}

static bool make_rows(struct view *view)
{
    const struct job *job = view->job;
    struct ranks ranks;
    if (!ranks_compare(&job->meetings, &ranks)) return false;
    view->rows = calloc(job->count, sizeof(*view->rows));
    bool good = view->rows;
    for (size_t r = 0; r < job->count && good; r++) {
        struct row *row = &view->rows[r];
        good = make_row(job->models[r], row);
        row->collectives = job->meetings.ranks[r].count;
        row->compared = ranks.books[r].compared;
        row->waited_ns = ranks.books[r].waited_ns;
        add_to_all(&view->all, row);
    }
    ranks_free(&ranks);
    return good;
}

static void add_row(struct table *table, const struct row *row)
{
    table_cell(table, "%" PRIu64, row->launches);
    if (row->step_ns)
        table_time(table, row->step_ns);
    else
        table_cell(table, "-");
    const uint64_t bytes[] = {row->need_bytes, row->budget_bytes, row->peak_bytes, row->in_bytes,
                              row->out_bytes};
    for (size_t i = 0; i < sizeof(bytes) / sizeof(*bytes); i++) table_bytes(table, bytes[i]);
    table_time(table, row->stall_ns);
    table_cell(table, "%" PRIu64, row->collectives);
    if (row->compared)
        table_time(table, row->waited_ns);
    else
        table_cell(table, "-");
}

static bool print_rows(const struct view *view)
{
    static const struct table_column columns[] = {
        {"rank"},    {"program", .text = true, .elastic = true},
        {"process"}, {"launches"},
        {"step"},    {"need"},
        {"budget"},  {"peak"},
        {"in"},      {"out"},
        {"stalled"}, {"collectives"},
        {"waited"},
    };
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(*columns)};
    for (size_t r = 0; r < view->job->count; r++) {
        const struct sluice_trace_header *header = &job_model(view->job, r)->header;
        table_cell(&table, "%" PRIu32, view->job->numbers[r]);
        table_cell(&table, "%s", program_name(header).text);
        table_cell(&table, "%" PRIu32, header->process);
        add_row(&table, &view->rows[r]);
    }
    for (unsigned i = 0; i < 3; i++) table_cell(&table, "%s", i ? "" : "all");
    add_row(&table, &view->all);
    bool good = table_print(&table, stdout);
    table_free(&table);
    return good;
}

static const char *basis_name(enum clock_basis basis)
{
    static const char *const names[] = {"first", "collectives", "realtime"};
    return names[basis];
}

static void print_row_json(struct json *json, const struct row *row)
{
    json_number(json, "launches", row->launches);
    json_number(json, "step_ns", row->step_ns);
    json_number(json, "need_bytes", row->need_bytes);
    json_number(json, "budget_bytes", row->budget_bytes);
    json_number(json, "peak_bytes", row->peak_bytes);
    json_number(json, "in_bytes", row->in_bytes);
    json_number(json, "out_bytes", row->out_bytes);
    json_number(json, "stalls", row->stalls);
    json_number(json, "stall_ns", row->stall_ns);
    json_number(json, "collectives", row->collectives);
    json_number(json, "compared", row->compared);
    json_number(json, "waited_ns", row->waited_ns);
}

static void write_json(struct json *json, const char *key, const struct view *view)
{
    const struct job *job = view->job;
    json_object(json, key, true);
    json_array(json, "ranks", true);
    for (size_t r = 0; r < job->count; r++) {
        const struct model *model = job->models[r];
        const struct clock *clock = &job->clocks[r];
        json_object(json, NULL, false);
        json_text(json, "file", job->paths[r]);
        json_number(json, "rank", job->numbers[r]);
        json_bool(json, "complete", model->problem.status == SL_OK);
        json_text(json, "program", program_name(&model->header).text);
        json_number(json, "process", model->header.process);
        print_row_json(json, &view->rows[r]);
        json_object(json, "clock", false);
        json_text(json, "lined_up_by", basis_name(clock->basis));
        json_real(json, "offset_ns", clock->offset_ns, 0);
        json_real(json, "drift", clock->drift, 9);
        json_number(json, "error_ns", clock->error_ns);
        json_number(json, "pairs", clock->pairs);
        json_bool(json, "own_device_clock", clock->own_device_clock);
        json_close(json);
        json_close(json);
    }
    json_close(json);
    json_object(json, "all", false);
    print_row_json(json, &view->all);
    json_close(json);
    json_number(json, "shared_collectives", job->meetings.shared);
    json_close(json);
}

bool info_ranks_json(struct json *json, const char *key, const struct job *job)
{
    struct view view = {.job = job};
    bool good = make_rows(&view);
    if (good) write_json(json, key, &view);
    free(view.rows);
    return good;
}

int info_ranks(const struct job *job, bool json)
{
    struct view view = {.job = job};
    struct json to = {.to = stdout};
    int status = job_check(job);
    if (json) return info_ranks_json(&to, NULL, job) ? status : failure("%s: out of memory", job->command);
    bool good = make_rows(&view) && print_rows(&view);
    if (good)
        job_print_clocks(job);
    else
        status = failure("%s: out of memory", job->command);
    free(view.rows);
    return status;
}
