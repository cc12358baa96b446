/* `sluice trace phases`: the use of device and link by each phase of training, one per row. */
#include "tools/views/trace.h"

#include <inttypes.h>
#include <string.h>

#include "tools/analyses/accounts.h"
#include "tools/text/command_line.h"
#include "tools/text/json.h"
#include "tools/text/messages.h"
#include "tools/text/table.h"
#include "tools/views/phases_ranks.h"
#include "tools/views/trace_json.h"

struct view {
    const struct model *model;
    const struct phases *phases;
    struct accounts accounts;
    uint64_t step;       /* 0: the whole trace */
    uint32_t begin, end; /* its launches */
};

static const char *const way_names[DIRECTIONS] = {"in", "out"};

static uint64_t link_speed(const struct model *model, enum direction direction)
{
    return direction == TO_DEVICE ? model->link_in : model->link_out;
}

/* A foreign trace may have figures beyond 64 bits. */
static uint64_t whole(double figure)
{
    return figure < 18e18 ? (uint64_t)figure : UINT64_MAX;
}

/* Bytes per second; 0: not measured. */
static uint64_t speed(const struct account *account, enum direction direction)
{
    uint64_t ns = account->transfer_ns[direction];
    return ns ? whole((double)account->transfer_bytes[direction] * 1e9 / (double)ns) : 0;
}

/* The part of the transfers' time during which no launch waited, in thousandths; -1: no transfers. */
static int hidden(const struct account *account)
{
    uint64_t busy = account->transfer_ns[TO_DEVICE] > account->transfer_ns[FROM_DEVICE]
                        ? account->transfer_ns[TO_DEVICE]
                        : account->transfer_ns[FROM_DEVICE];
    if (!busy) return -1;
    return account->stall_ns < busy ? (int)((double)(busy - account->stall_ns) / (double)busy * 1000) : 0;
}

static uint64_t idle_bytes(const struct account *account)
{
    return account->host_ns ? whole(account->idle_byte_ns / (double)account->host_ns) : 0;
}

static bool is_shown(const struct account *account)
{
    return account->launches || account_bytes(account, TO_DEVICE) || account_bytes(account, FROM_DEVICE) ||
           account->populated || account->dropped || account->stalls;
}

static void add_time(struct table *table, uint64_t ns)
{
    if (ns)
        table_time(table, ns);
    else
        table_cell(table, "-");
}

static void add_bytes(struct table *table, uint64_t bytes)
{
    if (bytes)
        table_bytes(table, bytes);
    else
        table_cell(table, "-");
}

static void add_speed(struct table *table, const struct model *model, const struct account *account,
                      enum direction direction)
{
    uint64_t achieved = speed(account, direction), measured = link_speed(model, direction);
    if (!achieved)
        table_cell(table, "-");
    else if (measured)
        table_cell(table, "%.1f GB/s, %.0f%%", (double)achieved / 1e9,
                   100.0 * (double)achieved / (double)measured);
    else
        table_cell(table, "%.1f GB/s", (double)achieved / 1e9);
}

static void add_row(struct table *table, const struct view *view, const char *name,
                    const struct account *account)
{
    table_cell(table, "%s", name);
    table_cell(table, "%" PRIu64, account->launches);
    add_time(table, account->host_ns);
    add_time(table, account->kernel_ns);
    for (unsigned d = 0; d < DIRECTIONS; d++) {
        add_bytes(table, account_bytes(account, d));
        add_speed(table, view->model, account, d);
    }
    int share = hidden(account);
    table_cell(table, share < 0 ? "-" : "%d.%d%%", share / 10, share % 10);
    add_time(table, account->stall_ns);
    if (view->model->budget_bytes)
        table_bytes(table, idle_bytes(account));
    else
        table_cell(table, "-");
}

static bool print_rows(const struct view *view)
{
    static const struct table_column columns[] = {
        {"phase", .text = true},
        {"launches"},
        {"time"},
        {"kernels"},
        {"in"},
        {"in at"},
        {"out"},
        {"out at"},
        {"hidden"},
        {"stalled"},
        {"idle memory"},
    };
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(*columns)};
    for (unsigned p = 1; p <= PHASE_COUNT; p++) {
        unsigned phase = p % PHASE_COUNT; /* launches without a phase last */
        if (is_shown(&view->accounts.of[phase]))
            add_row(&table, view, phase_name(phase), &view->accounts.of[phase]);
    }
    add_row(&table, view, "all", &view->accounts.all);
    bool good = table_print(&table, stdout);
    table_free(&table);
    return good;
}

static bool print_causes(const struct view *view)
{
    static const struct table_column columns[] = {
        {"phase", .text = true}, {"in: plan"}, {"demand"}, {"late"},    {"program"},   {"populated"},
        {"out: plan"},           {"demand"},   {"late"},   {"program"}, {"discarded"},
    };
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(*columns)};
    for (unsigned p = 1; p <= PHASE_COUNT + 1; p++) {
        bool all = p > PHASE_COUNT;
        const struct account *account = all ? &view->accounts.all : &view->accounts.of[p % PHASE_COUNT];
        if (!is_shown(account)) continue;
        table_cell(&table, "%s", all ? "all" : phase_name(p % PHASE_COUNT));
        for (unsigned d = 0; d < DIRECTIONS; d++) {
            for (unsigned c = 0; c < MOVE_CAUSES; c++) add_bytes(&table, account->moved[d][c]);
            add_bytes(&table, account->copied[d]);
            add_bytes(&table, d == TO_DEVICE ? account->populated : account->dropped);
        }
    }
    bool good = table_print(&table, stdout);
    table_free(&table);
    return good;
}

static void print_notes(const struct view *view)
{
    const struct model *model = view->model;
    if (!view->phases->found && !view->phases->marked)
        puts("No phases were found: the trace shows no batches that are copied to the device, used forward "
             "and\n"
             "backward, and followed by an update. Ranges of NVTX or sluice/marks.h can name the phases.");
    if (!view->accounts.has_times) puts("kernels: the trace has no durations.");
    if (!view->accounts.has_transfers)
        puts("in at, out at, hidden: the trace has no measured transfers.");
    else if (!model->link_in && !model->link_out)
        puts("in at, out at: the link's own speed was not measured.");
    puts("Not included: zero-copy accesses of kernels over the link, and data that the driver itself moves.");
    puts("time: of the program, by the host's clock. kernels, stalled: of the device, by its own.");
}

static int print_text(const struct view *view)
{
    const struct model *model = view->model;
    if (view->step) printf("iteration %" PRIu64 " of %" PRIu32 "\n", view->step, view->phases->step_count);
    if (model->link_in || model->link_out)
        printf("link: %.1f GB/s to the device, %.1f GB/s from it\n", (double)model->link_in / 1e9,
               (double)model->link_out / 1e9);
    if (!print_rows(view)) return failure("out of memory");
    putchar('\n');
    if (!print_causes(view)) return failure("out of memory");
    print_notes(view);
    return EXIT_OK;
}

static void print_account(struct json *json, const struct view *view, const char *name,
                          const struct account *account)
{
    json_object(json, NULL, false);
    json_text(json, "phase", name);
    json_number(json, "launches", account->launches);
    json_number(json, "host_ns", account->host_ns);
    json_number(json, "kernel_ns", account->kernel_ns);
    json_number(json, "timed_launches", account->timed);
    for (unsigned d = 0; d < DIRECTIONS; d++) {
        json_object(json, way_names[d], false);
        for (unsigned c = 0; c < MOVE_CAUSES; c++)
            json_number(json, move_cause_name(c), account->moved[d][c]);
        json_number(json, "moved", account_bytes(account, d));
        json_number(json, "program", account->copied[d]);
        json_number(json, "transfers", account->transfers[d]);
        json_number(json, "transfer_bytes", account->transfer_bytes[d]);
        json_number(json, "transfer_ns", account->transfer_ns[d]);
        json_number(json, "bytes_per_second", speed(account, d));
        json_close(json);
    }
    json_number(json, "populated", account->populated);
    json_number(json, "discarded", account->dropped);
    if (hidden(account) >= 0) json_real(json, "hidden", hidden(account) / 1000.0, 3);
    json_number(json, "stalls", account->stalls);
    json_number(json, "stall_ns", account->stall_ns);
    if (view->model->budget_bytes) json_number(json, "idle_bytes", idle_bytes(account));
    json_close(json);
}

static void print_launches(struct json *json, const struct view *view)
{
    json_array(json, "launches", true);
    for (uint32_t l = view->begin; l < view->end; l++) {
        const struct model_launch *launch = &view->model->launches.at[l];
        json_object(json, NULL, false);
        json_number(json, "tick", launch->tick);
        json_text(json, "phase", phase_name(view->phases->of_launch[l]));
        json_text(json, "name", model_launch_name(view->model, launch));
        json_close(json);
    }
    json_close(json);
}

static void write_json(struct json *json, const char *key, const struct view *view, bool launches)
{
    const struct model *model = view->model;
    json_object(json, key, true);
    json_bool(json, "complete", model->problem.status == SL_OK);
    json_bool(json, "found", view->phases->found);
    json_bool(json, "marked", view->phases->marked);
    json_number(json, "iterations", view->phases->step_count);
    if (view->step) json_number(json, "iteration", view->step);
    json_number(json, "link_in", model->link_in);
    json_number(json, "link_out", model->link_out);
    json_bool(json, "durations", view->accounts.has_times);
    json_bool(json, "transfers", view->accounts.has_transfers);
    json_array(json, "phases", true);
    for (unsigned p = 0; p < PHASE_COUNT; p++)
        if (is_shown(&view->accounts.of[p])) print_account(json, view, phase_name(p), &view->accounts.of[p]);
    print_account(json, view, "all", &view->accounts.all);
    json_close(json);
    json_text(json, "not_seen", "used over the link (zero-copy), or moved by the driver itself");
    if (launches) print_launches(json, view);
    json_close(json);
}

static void list_launches(const struct view *view)
{
    for (uint32_t l = view->begin; l < view->end; l++) {
        const struct model_launch *launch = &view->model->launches.at[l];
        printf("%10" PRIu64 "  %-10s  %s\n", launch->tick, phase_name(view->phases->of_launch[l]),
               model_launch_name(view->model, launch));
    }
}

/* Precondition: there is a step of this number, or it is 0. False: out of memory. */
static bool make(const struct model *model, const struct phases *phases, uint64_t step, struct view *view)
{
    *view =
        (struct view){.model = model, .phases = phases, .step = step, .end = (uint32_t)model->launches.count};
    if (step) {
        view->begin = phases->steps[step - 1].begin;
        view->end = phases->steps[step - 1].end;
    }
    return accounts_make(model, phases, view->begin, view->end, &view->accounts);
}

bool phases_json(struct json *json, const char *key, const struct model *model, const struct phases *phases,
                 uint64_t step)
{
    struct view view;
    if (!make(model, phases, step, &view)) return false;
    write_json(json, key, &view, false);
    return true;
}

static int show(const struct job *job, struct phases *phases, uint64_t step, bool as_json, bool launches)
{
    const struct model *model = job->models[0];
    const char *path = job->paths[0];
    struct json json = {.to = stdout};
    struct view view;
    if (!phases_find(model, phases)) return failure("%s: out of memory", path);
    if (step > phases->step_count)
        return usage_error("trace phases: there is no iteration %" PRIu64 "; %s has %" PRIu32, step, path,
                           phases->step_count);
    if (!make(model, phases, step, &view)) return failure("%s: out of memory", path);
    if (as_json)
        write_json(&json, NULL, &view, launches);
    else if (launches)
        list_launches(&view);
    else
        return print_text(&view);
    return EXIT_OK;
}

int trace_phases(int argc, char **argv)
{
    bool json = false, launches = false;
    uint64_t step = UINT64_MAX;
    struct phases phases = {0};
    const struct command_option options[] = {
        {"iteration", OPTION_NUMBER, &step, "N", "Only the Nth training step, counted from 1."},
        {"launches", OPTION_SWITCH, &launches, .help = "List all launches with their phases."},
        {"json", OPTION_SWITCH, &json, .help = "Print a JSON object."},
    };
    const struct command_syntax syntax = {
        .name = "trace phases",
        .synopsis = "[--iteration N] [--launches] [--json] FILE...",
        .about = "Divides a training run into phases, which are found from the data that launches touch or "
                 "named by the program's own ranges (NVTX, sluice/marks.h), and prints for each phase:\n"
                 "  time         from its launches to the next launches, on the program's clock\n"
                 "  kernels      time of its kernels on the device, extrapolated from the measured ones\n"
                 "  in, out      bytes fetched and evicted, and their speed in GB/s and in per cent of the "
                 "link's speed\n"
                 "  hidden       share of the busier direction's time during which no launch waited\n"
                 "  stalled      time that launches waited for data\n"
                 "  idle memory  unoccupied part of the budget, on average\n"
                 "and the bytes by cause: plan; demand (a launch needed them and they were not planned); "
                 "late (planned, but not issued before the launch); program (its own copies). Populated and "
                 "discarded bytes moved without a copy.\n"
                 "Several files are the traces of the ranks of one job: the phases of all ranks side by "
                 "side, with the time that they waited in collectives for others, and the rank that takes "
                 "longest and the one that moves most.\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    char **paths;
    size_t count;
    int status;
    if (!read_command_line_of_files(&syntax, argc, argv, 1, &paths, &count, &status)) return status;
    if (!step) return usage_error("trace phases: iterations count from 1");
    if (step == UINT64_MAX) step = 0;
    if (launches && count > 1) return usage_error("trace phases: --launches takes one file");
    struct job job = {.command = syntax.name, .paths = paths, .count = count};
    status = job_open(&job);
    if (status == EXIT_OK)
        status = count > 1 ? phases_ranks(&job, step, json) : show(&job, &phases, step, json, launches);
    phases_free(&phases);
    return job_close(&job, status);
}
