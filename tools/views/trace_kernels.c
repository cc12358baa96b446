#include "tools/views/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "tools/analyses/launch_times.h"
#include "tools/model/model.h"
#include "tools/model/trace_open.h"
#include "tools/text/command_line.h"
#include "tools/text/json.h"
#include "tools/text/messages.h"
#include "tools/text/table.h"
#include "tools/views/trace_json.h"

/* The launches of one name. */
struct row {
    const char *name;
    uint8_t kind; /* enum sl_launch_kind */
    uint64_t launches, touched_bytes;
    uint64_t sampled, sampled_ns, time_ns; /* time_ns: extrapolated to all launches */
    uint64_t misses, missed_bytes;         /* fetched when the launch was already waiting for it */
    uint64_t late, late_bytes;             /* planned, but issued only at the launch */
    uint64_t stalls, stall_ns;
};

struct kernels {
    const struct model *model;
    struct row *rows;
    size_t count;
    uint32_t *row_of_shape;
    uint64_t unplaced_stalls; /* stalls of launches that are missing or unknown */
};

enum order { BY_TIME, BY_LAUNCHES, BY_BYTES, BY_MISSES, BY_STALLS, BY_NAME };
static const char *const orders[] = {"time", "launches", "bytes", "misses", "stalls", "name", NULL};

/* Kernels with equal names share a row; so do all launches of each other kind. */
static uint32_t row_for(struct kernels *kernels, struct sl_map *names, const struct model_shape *shape)
{
    const struct model *model = kernels->model;
    const char *known = shape->kind == SL_LAUNCH_KERNEL ? kernel_name(&model->kernels, shape->kernel) : NULL;
    const char *name = known ? known : launch_kind_name(shape->kind);
    uint64_t hash = shape->kind + 1;
    for (const char *at = name; *at; at++) hash = sl_hash_word(hash, (unsigned char)*at);
    uint32_t row = sl_map_get(names, hash | 1);
    if (row != SL_NONE) return row;
    row = (uint32_t)kernels->count++;
    kernels->rows[row] = (struct row){.name = name, .kind = shape->kind};
    return sl_map_put(names, hash | 1, row) ? row : SL_NONE;
}

static bool make_rows(struct kernels *kernels)
{
    const struct model *model = kernels->model;
    struct sl_map names = {0};
    bool good = true;
    kernels->rows = calloc(model->shapes.count + 1, sizeof(*kernels->rows));
    kernels->row_of_shape = calloc(model->shapes.count + 1, sizeof(*kernels->row_of_shape));
    if (!kernels->rows || !kernels->row_of_shape) return false;
    for (size_t s = 0; s < model->shapes.count && good; s++) {
        kernels->row_of_shape[s] = row_for(kernels, &names, &model->shapes.at[s]);
        good = kernels->row_of_shape[s] != SL_NONE;
    }
    sl_map_free(&names);
    return good;
}

/* The row of the launch with this tick, or NULL. */
static struct row *row_at(struct kernels *kernels, uint64_t tick)
{
    uint32_t launch = model_find_launch(kernels->model, tick);
    if (launch == SL_NONE) return NULL;
    return &kernels->rows[kernels->row_of_shape[kernels->model->launches.at[launch].shape]];
}

static uint64_t touched_bytes(const struct model *model, const struct model_shape *shape)
{
    const struct model_set *set = &model->sets.at[shape->set];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < set->count; i++) bytes += model_set_range(model, set, i)->bytes;
    return bytes;
}

static bool count_launches(struct kernels *kernels)
{
    const struct model *model = kernels->model;
    uint64_t *launches_of_shape = calloc(model->shapes.count + 1, sizeof(*launches_of_shape));
    uint64_t *times = shape_times(model);
    bool good = launches_of_shape && times;
    for (size_t i = 0; good && i < model->launches.count; i++)
        launches_of_shape[model->launches.at[i].shape]++;
    for (size_t s = 0; good && s < model->shapes.count; s++) {
        struct row *row = &kernels->rows[kernels->row_of_shape[s]];
        row->launches += launches_of_shape[s];
        row->touched_bytes += launches_of_shape[s] * touched_bytes(model, &model->shapes.at[s]);
        row->time_ns += launches_of_shape[s] * times[s];
    }
    free(launches_of_shape);
    free(times);
    return good;
}

static void count_rest(struct kernels *kernels)
{
    const struct model *model = kernels->model;
    for (size_t i = 0; i < model->durations.count; i++) {
        struct row *row = row_at(kernels, model->durations.at[i].tick);
        if (!row) continue;
        row->sampled++;
        row->sampled_ns += model->durations.at[i].took_ns;
    }
    for (size_t i = 0; i < model->moves.count; i++) {
        const struct model_move *move = &model->moves.at[i];
        if (move->kind != SL_ACTION_FETCH || move->cause == SL_CAUSE_PLAN) continue;
        struct row *row = row_at(kernels, move->tick);
        if (!row) continue;
        bool miss = move->cause == SL_CAUSE_DEMAND;
        *(miss ? &row->misses : &row->late) += 1;
        *(miss ? &row->missed_bytes : &row->late_bytes) += move->bytes;
    }
    for (size_t i = 0; i < model->stalls.count; i++) {
        struct row *row = model->stalls.at[i].launch ? row_at(kernels, model->stalls.at[i].launch) : NULL;
        if (!row) {
            kernels->unplaced_stalls++;
            continue;
        }
        row->stalls++;
        row->stall_ns += model->stalls.at[i].took_ns;
    }
}

static uint64_t sort_key(const struct row *row, enum order order)
{
    switch (order) {
    case BY_TIME:
        return row->time_ns;
    case BY_LAUNCHES:
        return row->launches;
    case BY_BYTES:
        return row->touched_bytes;
    case BY_MISSES:
        return row->misses + row->late;
    case BY_STALLS:
        return row->stall_ns;
    case BY_NAME:
        break;
    }
    return 0;
}

static int compare(const void *one, const void *other, void *order)
{
    const struct row *a = one, *b = other;
    uint64_t key_a = sort_key(a, *(enum order *)order), key_b = sort_key(b, *(enum order *)order);
    if (key_a != key_b) return key_a > key_b ? -1 : 1;
    if (*(enum order *)order != BY_NAME && a->launches != b->launches)
        return a->launches > b->launches ? -1 : 1;
    int names = strcmp(a->name, b->name);
    return names ? names : (int)a->kind - (int)b->kind;
}

static struct row sum_of(const struct kernels *kernels)
{
    struct row sum = {.name = "all"};
    for (size_t r = 0; r < kernels->count; r++) {
        const struct row *row = &kernels->rows[r];
        sum.launches += row->launches;
        sum.touched_bytes += row->touched_bytes;
        sum.sampled += row->sampled;
        sum.sampled_ns += row->sampled_ns;
        sum.time_ns += row->time_ns;
        sum.misses += row->misses;
        sum.missed_bytes += row->missed_bytes;
        sum.late += row->late;
        sum.late_bytes += row->late_bytes;
        sum.stalls += row->stalls;
        sum.stall_ns += row->stall_ns;
    }
    return sum;
}

static void add_cells(struct table *table, const struct row *row, uint64_t all_ns)
{
    table_cell(table, "%s", row->name);
    table_cell(table, "%" PRIu64, row->launches);
    if (row->sampled) {
        table_time(table, row->time_ns);
        table_share(table, row->time_ns, all_ns);
        table_time(table, row->sampled_ns / row->sampled);
    } else {
        for (int i = 0; i < 3; i++) table_cell(table, "-");
    }
    table_cell(table, "%" PRIu64, row->sampled);
    table_bytes(table, row->launches ? row->touched_bytes / row->launches : 0);
    table_cell(table, "%" PRIu64, row->misses);
    table_cell(table, "%" PRIu64, row->late);
    table_cell(table, "%" PRIu64, row->stalls);
    if (row->stalls)
        table_time(table, row->stall_ns);
    else
        table_cell(table, "-");
}

static int print_table(const char *path, const struct kernels *kernels, uint64_t limit)
{
    static const struct table_column columns[] = {
        {"kernel", .text = true, .elastic = true},
        {"launches"},
        {"time"},
        {"share"},
        {"mean"},
        {"sampled"},
        {"touches"},
        {"misses"},
        {"late"},
        {"stalls"},
        {"stalled"},
    };
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(*columns)};
    struct row sum = sum_of(kernels);
    for (size_t r = 0; r < kernels->count && r < limit; r++)
        add_cells(&table, &kernels->rows[r], sum.time_ns);
    add_cells(&table, &sum, sum.time_ns);
    bool good = table_print(&table, stdout);
    table_free(&table);
    if (!good) return failure("%s: out of memory", path);
    if (kernels->count > limit)
        printf("%" PRIu64 " more are not shown; --limit 0 shows all\n", kernels->count - limit);
    if (!sum.sampled) puts("The trace has no durations.");
    if (kernels->unplaced_stalls)
        printf("%" PRIu64 " stalls belong to launches that the trace does not identify\n",
               kernels->unplaced_stalls);
    return EXIT_OK;
}

static void print_members(struct json *json, const struct row *row)
{
    json_number(json, "launches", row->launches);
    json_number(json, "touched_bytes", row->touched_bytes);
    json_number(json, "sampled", row->sampled);
    json_number(json, "sampled_ns", row->sampled_ns);
    json_number(json, "time_ns", row->time_ns);
    json_number(json, "misses", row->misses);
    json_number(json, "missed_bytes", row->missed_bytes);
    json_number(json, "late", row->late);
    json_number(json, "late_bytes", row->late_bytes);
    json_number(json, "stalls", row->stalls);
    json_number(json, "stall_ns", row->stall_ns);
}

static void write_json(struct json *json, const char *key, const struct kernels *kernels, uint64_t limit)
{
    struct row sum = sum_of(kernels);
    json_object(json, key, true);
    json_bool(json, "complete", kernels->model->problem.status == SL_OK);
    json_array(json, "kernels", true);
    for (size_t r = 0; r < kernels->count && r < limit; r++) {
        json_object(json, NULL, false);
        json_text(json, "name", kernels->rows[r].name);
        json_text(json, "kind", launch_kind_name(kernels->rows[r].kind));
        print_members(json, &kernels->rows[r]);
        json_close(json);
    }
    json_close(json);
    json_object(json, "all", false);
    json_number(json, "rows", kernels->count);
    print_members(json, &sum);
    json_number(json, "unplaced_stalls", kernels->unplaced_stalls);
    json_close(json);
    json_close(json);
}

/* Sets the rows of a zeroed *kernels with a model. False: out of memory; then, too, the caller frees it. */
static bool make(struct kernels *kernels, enum order order)
{
    if (!make_rows(kernels) || !count_launches(kernels)) return false;
    count_rest(kernels);
    qsort_r(kernels->rows, kernels->count, sizeof(*kernels->rows), compare, &order);
    return true;
}

static void release(struct kernels *kernels)
{
    free(kernels->rows);
    free(kernels->row_of_shape);
}

bool kernels_json(struct json *json, const char *key, const struct model *model, uint64_t limit)
{
    struct kernels kernels = {.model = model};
    bool good = make(&kernels, BY_TIME);
    if (good) write_json(json, key, &kernels, limit);
    release(&kernels);
    return good;
}

static int show(const char *path, const struct model *model, enum order order, uint64_t limit, bool as_json)
{
    struct kernels kernels = {.model = model};
    struct json json = {.to = stdout};
    int status = make(&kernels, order) ? EXIT_OK : failure("%s: out of memory", path);
    if (status == EXIT_OK && as_json) write_json(&json, NULL, &kernels, limit);
    if (status == EXIT_OK && !as_json) status = print_table(path, &kernels, limit);
    release(&kernels);
    return status == EXIT_OK ? end_status(path, &model->problem) : status;
}

int trace_kernels(int argc, char **argv)
{
    bool json = false;
    unsigned order = BY_TIME;
    uint64_t limit = 30;
    const struct command_option options[] = {
        {"sort", OPTION_WORD, &order, .help = "Sort key. Default: time.", .words = orders},
        {"limit", OPTION_NUMBER, &limit, "N", "Print at most N rows (30). 0: print all."},
        {"json", OPTION_SWITCH, &json, .help = "Print a JSON object."},
    };
    const struct command_syntax syntax = {
        .name = "trace kernels",
        .synopsis = "[--sort KEY] [--limit N] [--json] FILE",
        .about = "Prints for each kernel, and for copies, memsets, graphs and collectives:\n"
                 "  launches  number of launches\n"
                 "  time      total time on the device; a launch without a measured time counts as the mean "
                 "of the measured ones that do the same; without what submission adds on an idle stream\n"
                 "  share     share of the time of all launches\n"
                 "  mean      mean time of the measured launches\n"
                 "  sampled   number of measured launches\n"
                 "  touches   mean number of bytes that a launch may touch\n"
                 "  misses    chunks that were fetched only when the launch was waiting\n"
                 "  late      chunks whose fetch was planned, but not issued before the launch\n"
                 "  stalls    number of times that its stream waited for a fetch; stalled: the time of these "
                 "waits\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    const char *path;
    int status;
    if (!read_command_line(&syntax, argc, argv, &path, &status)) return status;
    struct model *model;
    status = model_open(path, &model);
    if (status != EXIT_OK) return status;
    status = show(path, model, order, limit ? limit : UINT64_MAX, json);
    model_close(model);
    return status;
}
