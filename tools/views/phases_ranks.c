#include "tools/views/phases_ranks.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "tools/analyses/accounts.h"
#include "tools/text/json.h"
#include "tools/text/messages.h"
#include "tools/text/table.h"

enum { ALL = PHASE_COUNT, ROWS }; /* ALL: all phases together */

struct rank {
    struct phases phases;
    struct accounts accounts;
    uint64_t waited_ns[ROWS]; /* in collectives, for other ranks */
};

struct view {
    const struct job *job;
    struct rank *ranks;
    bool by_device; /* the kernels of all ranks were timed on the device */
};

static const struct account *account_of(const struct rank *rank, unsigned row)
{
    return row == ALL ? &rank->accounts.all : &rank->accounts.of[row];
}

static uint64_t moved(const struct account *account)
{
    return account_bytes(account, TO_DEVICE) + account_bytes(account, FROM_DEVICE);
}

/* The time of the rank itself for the phase: its kernels and stalls, without its waits for other ranks. If
 * kernels were not timed, the host's time. */
static uint64_t took_ns(const struct view *view, size_t r, unsigned row)
{
    const struct account *account = account_of(&view->ranks[r], row);
    uint64_t waited = view->ranks[r].waited_ns[row], busy = account->kernel_ns + account->stall_ns;
    if (!view->by_device) return account->host_ns;
    return busy > waited ? busy - waited : 0;
}

static uint64_t moved_bytes(const struct view *view, size_t r, unsigned row)
{
    return moved(account_of(&view->ranks[r], row));
}

static void find_waits(const struct job *job, size_t r, uint32_t begin, uint32_t end, struct rank *rank)
{
    const struct meeting_rank *its = &job->meetings.ranks[r];
    for (size_t i = 0; i < its->count; i++) {
        const struct meeting_entry *entry = &its->entries[i];
        uint32_t launch = model_find_launch(its->model, entry->tick), other;
        if (launch < begin || launch >= end || !entry->timed || entry->meeting == MEETING_NONE) continue;
        const struct meeting_entry *last =
            meeting_last(&job->meetings, &job->meetings.at[entry->meeting], &other);
        if (!last) continue;
        rank->waited_ns[rank->phases.of_launch[launch]] += entry->took_ns - last->took_ns;
        rank->waited_ns[ALL] += entry->took_ns - last->took_ns;
    }
}

static int make(const struct job *job, size_t r, uint64_t step, struct rank *rank)
{
    const struct model *model = job->models[r];
    uint32_t begin = 0, end = (uint32_t)model->launches.count;
    if (!phases_find(model, &rank->phases)) return failure("%s: out of memory", job->paths[r]);
    if (step > rank->phases.step_count)
        return usage_error("%s: there is no iteration %" PRIu64 "; %s has %" PRIu32, job->command, step,
                           job->paths[r], rank->phases.step_count);
    if (step) {
        begin = rank->phases.steps[step - 1].begin;
        end = rank->phases.steps[step - 1].end;
    }
    if (!accounts_make(model, &rank->phases, begin, end, &rank->accounts))
        return failure("%s: out of memory", job->paths[r]);
    find_waits(job, r, begin, end, rank);
    return EXIT_OK;
}

static bool is_shown(const struct view *view, unsigned row)
{
    for (size_t r = 0; r < view->job->count; r++) {
        const struct account *account = account_of(&view->ranks[r], row);
        if (account->launches || moved(account) || account->stalls) return true;
    }
    return false;
}

/* The rows in the order of a step; launches without a phase are last but one, the total is last. */
static unsigned row_at(unsigned i)
{
    return i + 1 < PHASE_COUNT ? i + 1 : i + 1 == PHASE_COUNT ? 0 : ALL;
}

static const char *row_name(unsigned row)
{
    return row == ALL ? "all" : phase_name(row);
}

static void add_rank(struct table *table, const struct view *view, unsigned row, size_t r, bool first)
{
    const struct account *account = account_of(&view->ranks[r], row);
    table_cell(table, "%s", first ? row_name(row) : "");
    table_cell(table, "%" PRIu32, view->job->numbers[r]);
    table_cell(table, "%" PRIu64, account->launches);
    table_time(table, account->host_ns);
    if (account->timed)
        table_time(table, account->kernel_ns);
    else
        table_cell(table, "-");
    table_bytes(table, account_bytes(account, TO_DEVICE));
    table_bytes(table, account_bytes(account, FROM_DEVICE));
    table_time(table, account->stall_ns);
    table_time(table, view->ranks[r].waited_ns[row]);
}

static bool print_ranks(const struct view *view)
{
    static const struct table_column columns[] = {
        {"phase", .text = true},
        {"rank"},
        {"launches"},
        {"time"},
        {"kernels"},
        {"in"},
        {"out"},
        {"stalled"},
        {"waited"},
    };
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(*columns)};
    for (unsigned i = 0; i < ROWS; i++)
        for (size_t r = 0; r < view->job->count && is_shown(view, row_at(i)); r++)
            add_rank(&table, view, row_at(i), r, r == 0);
    bool good = table_print(&table, stdout);
    table_free(&table);
    return good;
}

/* One figure compared over all ranks. */
struct comparison {
    size_t most_rank;
    uint64_t most, median;
};

static int ascending(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

static struct comparison compare(const struct view *view, unsigned row, uint64_t *room,
                                 uint64_t (*figure)(const struct view *, size_t, unsigned))
{
    struct comparison comparison = {0};
    for (size_t r = 0; r < view->job->count; r++) {
        room[r] = figure(view, r, row);
        if (room[r] <= comparison.most) continue;
        comparison.most = room[r];
        comparison.most_rank = r;
    }
    qsort(room, view->job->count, sizeof(*room), ascending);
    comparison.median = room[(view->job->count - 1) / 2];
    return comparison;
}

static void add_comparison(struct table *table, const struct view *view, const struct comparison *c,
                           bool is_time)
{
    if (c->most > c->median)
        table_cell(table, "rank %" PRIu32, view->job->numbers[c->most_rank]);
    else
        table_cell(table, "-");
    (is_time ? table_time : table_bytes)(table, c->most);
    (is_time ? table_time : table_bytes)(table, c->median);
}

/* Prints, for each phase, the rank that took longest and the one that moved most; then the phase that exceeds
 * the median most. */
static bool print_comparison(const struct view *view, uint64_t *room)
{
    static const struct table_column columns[] = {
        {"phase", .text = true}, {"longest"}, {"took"}, {"median"}, {"moved most"}, {"bytes"}, {"median"},
    };
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(*columns)};
    struct comparison worst = {0}, worst_moved = {0};
    unsigned worst_row = ALL;
    for (unsigned i = 0; i < ROWS; i++) {
        unsigned row = row_at(i);
        if (!is_shown(view, row)) continue;
        struct comparison took = compare(view, row, room, took_ns);
        struct comparison bytes = compare(view, row, room, moved_bytes);
        table_cell(&table, "%s", row_name(row));
        add_comparison(&table, view, &took, true);
        add_comparison(&table, view, &bytes, false);
        if (row == ALL || took.most - took.median <= worst.most - worst.median) continue;
        worst = took;
        worst_moved = bytes;
        worst_row = row;
    }
    bool good = table_print(&table, stdout);
    table_free(&table);
    if (worst_row == ALL) return good;
    char time[TIME_TEXT], text[SL_BYTES_TEXT];
    uint64_t its = moved_bytes(view, worst.most_rank, worst_row);
    printf("\nRank %" PRIu32 " takes %s more than the median for %s", view->job->numbers[worst.most_rank],
           time_text(worst.most - worst.median, time), row_name(worst_row));
    if (its > worst_moved.median)
        printf(", and moves %s more", sl_bytes_text(its - worst_moved.median, text));
    puts(".");
    return good;
}

static int print_text(const struct view *view, uint64_t step)
{
    uint64_t *room = calloc(view->job->count, sizeof(*room));
    if (!room) return failure("%s: out of memory", view->job->command);
    if (step) printf("iteration %" PRIu64 "\n", step);
    bool good = print_ranks(view);
    if (good) putchar('\n');
    good = good && print_comparison(view, room);
    free(room);
    if (!good) return failure("%s: out of memory", view->job->command);
    puts(view->by_device ? "took: kernels and stalls, without waits for other ranks."
                         : "took: the host's time, because not all traces have durations.");
    return EXIT_OK;
}

static void write_json(struct json *json, const char *key, const struct view *view, uint64_t step)
{
    json_object(json, key, true);
    if (step) json_number(json, "iteration", step);
    json_text(json, "took_is", view->by_device ? "device" : "host");
    json_array(json, "phases", true);
    for (unsigned i = 0; i < ROWS; i++) {
        unsigned row = row_at(i);
        if (!is_shown(view, row)) continue;
        json_object(json, NULL, true);
        json_text(json, "phase", row_name(row));
        json_array(json, "ranks", true);
        for (size_t r = 0; r < view->job->count; r++) {
            const struct account *account = account_of(&view->ranks[r], row);
            json_object(json, NULL, false);
            json_number(json, "rank", view->job->numbers[r]);
            json_number(json, "launches", account->launches);
            json_number(json, "host_ns", account->host_ns);
            json_number(json, "kernel_ns", account->kernel_ns);
            json_number(json, "in_bytes", account_bytes(account, TO_DEVICE));
            json_number(json, "out_bytes", account_bytes(account, FROM_DEVICE));
            json_number(json, "stall_ns", account->stall_ns);
            json_number(json, "waited_ns", view->ranks[r].waited_ns[row]);
            json_number(json, "took_ns", took_ns(view, r, row));
            json_close(json);
        }
        json_close(json);
        json_close(json);
    }
    json_close(json);
    json_close(json);
}

/* Makes the view, and prints it: as JSON, if `json` is not NULL. */
static int show(const struct job *job, uint64_t step, struct json *json, const char *key)
{
    struct view view = {.job = job, .ranks = calloc(job->count, sizeof(*view.ranks)), .by_device = true};
    int status = view.ranks ? EXIT_OK : failure("%s: out of memory", job->command);
    for (size_t r = 0; r < job->count && status == EXIT_OK; r++) {
        status = make(job, r, step, &view.ranks[r]);
        view.by_device = view.by_device && view.ranks[r].accounts.has_times;
    }
    if (status == EXIT_OK && json) write_json(json, key, &view, step);
    if (status == EXIT_OK && !json) status = print_text(&view, step);
    for (size_t r = 0; view.ranks && r < job->count; r++) phases_free(&view.ranks[r].phases);
    free(view.ranks);
    return status;
}

int phases_ranks_json(struct json *json, const char *key, const struct job *job, uint64_t step)
{
    return show(job, step, json, key);
}

int phases_ranks(const struct job *job, uint64_t step, bool json)
{
    struct json to = {.to = stdout};
    int status = show(job, step, json ? &to : NULL, NULL);
    return status == EXIT_OK ? job_check(job) : status;
}
