#include "tools/views/trace.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tools/analyses/ranks.h"
#include "tools/model/trace_open.h"
#include "tools/model/trace_text.h"
#include "tools/text/command_line.h"
#include "tools/text/json.h"
#include "tools/text/messages.h"
#include "tools/text/table.h"
#include "tools/views/trace_json.h"

struct view {
    const struct job *job;
    struct ranks ranks;
};

static void add_rank(struct table *table, const struct view *view, size_t rank)
{
    const struct rank_books *books = &view->ranks.books[rank];
    const struct sluice_trace_header *header = &job_model(view->job, rank)->header;
    table_cell(table, "%" PRIu32, view->job->numbers[rank]);
    table_cell(table, "%s", program_name(header).text);
    table_cell(table, "%" PRIu32, header->process);
    table_cell(table, "%zu", view->job->meetings.ranks[rank].count);
    table_cell(table, "%" PRIu64, books->compared);
    table_time(table, books->waited_ns);
    table_cell(table, "%" PRIu64, books->last);
    table_time(table, books->late_ns);
    table_time(table, books->by_work_ns);
    table_time(table, books->by_link_ns);
    table_time(table, books->by_data_ns);
    table_time(table, books->by_host_ns);
}

static bool print_books(const struct view *view)
{
    static const struct table_column columns[] = {
        {"rank"},     {"program", .text = true, .elastic = true},
        {"process"},  {"collectives"},
        {"compared"}, {"waited"},
        {"last"},     {"late"},
        {"by work"},  {"by link"},
        {"by data"},  {"by host"},
    };
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(*columns)};
    for (size_t r = 0; r < view->ranks.count; r++) add_rank(&table, view, r);
    bool good = table_print(&table, stdout);
    table_free(&table);
    return good;
}

static size_t most_often_last(const struct ranks *ranks, const struct rank_kind *kind)
{
    size_t most = 0;
    for (size_t r = 1; r < ranks->count; r++)
        if (kind->last_of_rank[r] > kind->last_of_rank[most]) most = r;
    return most;
}

static bool print_kinds(const struct view *view)
{
    const struct ranks *ranks = &view->ranks;
    static const struct table_column columns[] = {
        {"collective", .text = true}, {"communicator"}, {"count"}, {"compared"}, {"bytes each"}, {"waited"},
        {"last most often"},          {"share"},
    };
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(*columns)};
    for (size_t k = 0; k < ranks->kind_count; k++) {
        const struct rank_kind *kind = &ranks->kinds[k];
        size_t last = most_often_last(ranks, kind);
        table_cell(&table, "%s", collective_name(kind->function));
        table_cell(&table, "%" PRIx64, kind->communicator);
        table_cell(&table, "%" PRIu64, kind->count);
        table_cell(&table, "%" PRIu64, kind->compared);
        table_bytes(&table, kind->bytes / kind->count);
        table_time(&table, kind->waited_ns);
        if (kind->last_of_rank[last])
            table_cell(&table, "rank %" PRIu32, view->job->numbers[last]);
        else
            table_cell(&table, "-");
        table_share(&table, kind->last_of_rank[last], kind->compared);
    }
    bool good = table_print(&table, stdout);
    table_free(&table);
    return good;
}

/* The rank with the largest total delay, and its main cause. */
static void print_worst(const struct view *view)
{
    const struct ranks *ranks = &view->ranks;
    const struct rank_books *worst = &ranks->books[0];
    for (size_t r = 0; r < ranks->count; r++)
        if (ranks->books[r].late_ns > worst->late_ns) worst = &ranks->books[r];
    if (!worst->late_ns) return;
    char late[TIME_TEXT];
    const struct {
        uint64_t ns;
        const char *text;
    } causes[] = {{worst->by_work_ns, "its launches took longer"},
                  {worst->by_link_ns, "its link to the host is slower"},
                  {worst->by_data_ns, "its launches waited for data to be fetched"},
                  {worst->by_host_ns, "its host launched later"}};
    size_t most = 0;
    for (size_t i = 1; i < sizeof(causes) / sizeof(*causes); i++)
        if (causes[i].ns > causes[most].ns) most = i;
    printf("\nRank %" PRIu32 " kept the others waiting most, %s in all, mostly because %s.\n",
           view->job->numbers[worst - ranks->books], time_text(worst->late_ns, late), causes[most].text);
}

/* Notes on the basis of the figures. */
static void print_notes(const struct view *view)
{
    const struct ranks *ranks = &view->ranks;
    uint64_t compared = 0, timed = 0, estimated = 0, meetings = 0;
    for (size_t r = 0; r < ranks->count; r++) {
        compared += ranks->books[r].compared;
        timed += ranks->books[r].spending.timed;
        estimated += ranks->books[r].spending.estimated;
        meetings += view->job->meetings.ranks[r].count;
    }
    if (!view->job->meetings.shared) return;
    if (!compared) {
        puts("\nNo collective was timed on two ranks, so waits are unknown. Collectives are timed unless "
             "SLUICE_TRACE_SAMPLE is 0.");
        return;
    }
    print_worst(view);
    if (compared < meetings)
        printf("\n%" PRIu64 " of %" PRIu64
               " collectives were not compared: no other rank's trace has their time.\n",
               meetings - compared, meetings);
    if (estimated)
        printf("\nby work: %" PRIu64 " launches were timed, and %" PRIu64
               " count as the mean of similar ones.\n",
               timed, estimated);
}

static bool print_all(const struct view *view)
{
    if (!print_books(view)) return false;
    if (view->ranks.kind_count) putchar('\n');
    if (view->ranks.kind_count && !print_kinds(view)) return false;
    print_notes(view);
    return true;
}

static void put_books(struct json *json, const struct view *view, size_t rank)
{
    const struct rank_books *books = &view->ranks.books[rank];
    json_object(json, NULL, false);
    json_text(json, "file", view->job->paths[rank]);
    json_number(json, "rank", view->job->numbers[rank]);
    json_number(json, "process", job_model(view->job, rank)->header.process);
    json_number(json, "collectives", view->job->meetings.ranks[rank].count);
    json_number(json, "compared", books->compared);
    json_number(json, "waited_ns", books->waited_ns);
    json_number(json, "last", books->last);
    json_number(json, "late_ns", books->late_ns);
    json_number(json, "late_by_work_ns", books->by_work_ns);
    json_number(json, "late_by_link_ns", books->by_link_ns);
    json_number(json, "late_by_data_ns", books->by_data_ns);
    json_number(json, "late_by_host_ns", books->by_host_ns);
    json_number(json, "timed_launches", books->spending.timed);
    json_number(json, "estimated_launches", books->spending.estimated);
    json_close(json);
}

static void write_json(struct json *json, const char *key, const struct view *view)
{
    const struct ranks *ranks = &view->ranks;
    json_object(json, key, true);
    json_array(json, "ranks", true);
    for (size_t r = 0; r < ranks->count; r++) put_books(json, view, r);
    json_close(json);
    json_array(json, "collectives", true);
    for (size_t k = 0; k < ranks->kind_count; k++) {
        const struct rank_kind *kind = &ranks->kinds[k];
        json_object(json, NULL, false);
        json_text(json, "function", collective_name(kind->function));
        json_number(json, "communicator", kind->communicator);
        json_number(json, "count", kind->count);
        json_number(json, "compared", kind->compared);
        json_number(json, "bytes", kind->bytes);
        json_number(json, "waited_ns", kind->waited_ns);
        json_array(json, "last_of_rank", false);
        for (size_t r = 0; r < ranks->count; r++) json_number(json, NULL, kind->last_of_rank[r]);
        json_close(json);
        json_close(json);
    }
    json_close(json);
    json_number(json, "unlike_communicators", view->job->meetings.unlike);
    json_close(json);
}

bool ranks_json(struct json *json, const char *key, const struct job *job)
{
    struct view view = {.job = job};
    if (!ranks_compare(&job->meetings, &view.ranks)) return false;
    write_json(json, key, &view);
    ranks_free(&view.ranks);
    return true;
}

static int show(const struct job *job)
{
    struct view view = {.job = job};
    int status = job_check(job);
    bool good = ranks_compare(&job->meetings, &view.ranks) && print_all(&view);
    ranks_free(&view.ranks);
    return good ? status : failure("trace ranks: out of memory");
}

static int show_json(const struct job *job)
{
    struct json json = {.to = stdout};
    int status = job_check(job);
    return ranks_json(&json, NULL, job) ? status : failure("trace ranks: out of memory");
}

int trace_ranks(int argc, char **argv)
{
    bool json = false;
    const struct command_option options[] = {
        {"json", OPTION_SWITCH, &json, .help = "Print a JSON object."},
    };
    const struct command_syntax syntax = {
        .name = "trace ranks",
        .synopsis = "[--json] FILE FILE...",
        .about =
            "Compares the traces of the ranks of one job. A collective ends on all ranks at about the "
            "same time, so the rank on which it took least came last. Prints for each rank:\n"
            "  collectives  number of collectives, sends, receives and groups of these, without groups of "
            "collectives\n"
            "  compared     those that were timed on this rank and on another one\n"
            "  waited       time that it waited in them for the last rank\n"
            "  last         number of times that it was the last rank\n"
            "  late         total time that it came after the last rank but one\n"
            "  by work      part of that because its launches took longer since the ranks were last "
            "level; launches without a measured time count as the mean of similar ones\n"
            "  by link      part of the rest because its fetches took longer than they would over the "
            "other rank's link\n"
            "  by data      the rest, if it fetched more than the other rank in the meantime; else the "
            "part because its launches waited longer for data\n"
            "  by host      the remainder: its host launched later\n"
            "and for each kind of collective the rank that came last. A send and its receive are one Send, "
            "groups that exchange messages one group; NCCL may end the send of a small message before the "
            "receive begins. SLUICE_TRACE=run.%r.slt records a "
            "trace for each rank.\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    char **paths;
    size_t count;
    int status;
    if (!read_command_line_of_files(&syntax, argc, argv, 2, &paths, &count, &status)) return status;
    struct job job = {.command = syntax.name, .paths = paths, .count = count};
    status = job_open(&job);
    if (status == EXIT_OK) status = json ? show_json(&job) : show(&job);
    return job_close(&job, status);
}
