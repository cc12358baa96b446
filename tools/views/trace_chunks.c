#include "tools/views/trace.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "tools/analyses/chunk_rows.h"
#include "tools/model/site_title.h"
#include "tools/model/trace_open.h"
#include "tools/text/command_line.h"
#include "tools/text/json.h"
#include "tools/text/messages.h"
#include "tools/text/table.h"

enum order { BY_TRAFFIC, BY_FETCHES, BY_MISSES, BY_EVICTIONS, BY_RESIDENT, BY_CHUNK };
static const char *const orders[] = {"traffic", "fetches", "misses", "evictions", "resident", "chunk", NULL};

enum { SLOTS_SHOWN = 16 }; /* of each chunk, in JSON */

static uint64_t not_planned(const struct chunk_row *row, unsigned kind)
{
    return chunk_row_moves(row, kind) - row->moves[kind][SL_CAUSE_PLAN];
}

static uint64_t sort_key(const struct chunk_row *row, enum order order)
{
    switch (order) {
    case BY_TRAFFIC:
        return row->in_bytes + row->out_bytes;
    case BY_FETCHES:
        return chunk_row_moves(row, SL_ACTION_FETCH);
    case BY_MISSES:
        return not_planned(row, SL_ACTION_FETCH);
    case BY_EVICTIONS:
        return chunk_row_moves(row, SL_ACTION_EVICT);
    case BY_RESIDENT:
        return row->resident_ns;
    case BY_CHUNK:
        break;
    }
    return 0;
}

static int compare(const void *one, const void *other, void *order)
{
    const struct chunk_row *a = one, *b = other;
    uint64_t key_a = sort_key(a, *(enum order *)order), key_b = sort_key(b, *(enum order *)order);
    if (key_a != key_b) return key_a > key_b ? -1 : 1;
    return a->chunk < b->chunk ? -1 : a->chunk > b->chunk;
}

struct view {
    const char *path;
    const struct model *model;
    struct site_titles *titles;
    struct phases phases;
    struct chunk_rows rows;
    uint64_t limit;
};

/* "parameters 75 %, gradients 25 %", largest first; empty if no class is known. */
static const char *classes_text(uint64_t classes[CLASS_COUNT], char *out, size_t bytes)
{
    uint64_t all = 0;
    size_t used = 0;
    for (unsigned c = 0; c < CLASS_COUNT; c++) all += classes[c];
    out[0] = 0;
    if (all == classes[CLASS_UNKNOWN]) return out;
    for (;;) {
        unsigned most = 0;
        for (unsigned c = 1; c < CLASS_COUNT; c++)
            if (classes[c] > classes[most]) most = c;
        double share = 100.0 * (double)classes[most] / (double)all;
        if (share < 0.5 || used >= bytes) return out;
        used += (size_t)snprintf(out + used, bytes - used, "%s%s %.0f %%", used ? ", " : "", class_name(most),
                                 share);
        classes[most] = 0;
    }
}

static void add_holds(struct table *table, const struct view *view, const struct chunk_row *row)
{
    uint64_t classes[CLASS_COUNT] = {0};
    char text[256] = "", bytes[SL_BYTES_TEXT];
    if (view->phases.found) {
        chunk_row_classes(&view->rows, row, &view->phases, classes);
        classes_text(classes, text, sizeof(text));
    }
    if (text[0] || !row->slot_count) {
        table_cell(table, "%s", text[0] ? text : "-");
        return;
    }
    const struct chunk_slot *largest = &view->rows.slots[row->first_slot];
    table_cell(table, "slot %" PRIu32 " with %s%s", view->model->slots.at[largest->slot].id,
               sl_bytes_text(largest->bytes, bytes), row->slot_count > 1 ? ", ..." : "");
}

/* The tensor in the chunk's largest slot, or the slot's site. */
static void add_site(struct table *table, const struct view *view, const struct chunk_row *row)
{
    char title[SITE_TITLE] = "-";
    if (row->slot_count) {
        uint32_t slot = view->rows.slots[row->first_slot].slot;
        const char *tensor = slot_name(site_titles_tensors(view->titles), slot);
        if (tensor)
            snprintf(title, sizeof(title), "%s", tensor);
        else
            site_title_find(view->titles, view->model->slots.at[slot].site, title);
    }
    table_cell(table, "%s", title);
}

static void add_cells(struct table *table, const struct view *view, const struct chunk_row *row)
{
    table_cell(table, "%" PRIu32, row->chunk);
    table_share(table, row->resident_ns, view->rows.span_ns);
    table_cell(table, "%" PRIu64, chunk_row_moves(row, SL_ACTION_FETCH));
    table_cell(table, "%" PRIu64, row->moves[SL_ACTION_FETCH][SL_CAUSE_DEMAND]);
    table_cell(table, "%" PRIu64, row->moves[SL_ACTION_FETCH][SL_CAUSE_LATE]);
    table_cell(table, "%" PRIu64, chunk_row_moves(row, SL_ACTION_EVICT));
    table_cell(table, "%" PRIu64, not_planned(row, SL_ACTION_EVICT));
    table_cell(table, "%" PRIu64, chunk_row_moves(row, SL_ACTION_POPULATE));
    table_cell(table, "%" PRIu64, chunk_row_moves(row, SL_ACTION_DISCARD));
    table_bytes(table, row->in_bytes);
    table_bytes(table, row->out_bytes);
    table_cell(table, "%zu", row->slot_count);
    add_holds(table, view, row);
    add_site(table, view, row);
}

static int print_table(const struct view *view)
{
    static const struct table_column columns[] = {
        {"chunk"},
        {"resident"},
        {"fetched"},
        {"demand"},
        {"late"},
        {"evicted"},
        {"demand"},
        {"new"},
        {"discarded"},
        {"in"},
        {"out"},
        {"slots"},
        {"holds", .text = true},
        {"tensor or site", .text = true, .elastic = true},
    };
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(*columns)};
    const struct chunk_rows *rows = &view->rows;
    for (size_t r = 0; r < rows->count && r < view->limit; r++) add_cells(&table, view, &rows->rows[r]);
    bool good = table_print(&table, stdout);
    table_free(&table);
    if (!good) return failure("%s: out of memory", view->path);
    if (rows->count > view->limit)
        printf("%" PRIu64 " more are not shown; --limit 0 shows all\n", rows->count - view->limit);
    if (!rows->count)
        puts("The trace has no chunks: the driver managed the program's memory.");
    else if (!rows->placed)
        puts("The trace does not show which allocations the chunks hold.");
    return EXIT_OK;
}

static void print_moves(struct json *json, const struct chunk_row *row)
{
    for (unsigned kind = 0; kind < MOVE_KINDS; kind++) {
        json_object(json, move_kind_name(kind), false);
        for (unsigned cause = 0; cause < MOVE_CAUSES; cause++)
            json_number(json, move_cause_name(cause), row->moves[kind][cause]);
        json_close(json);
    }
}

static void print_content(struct json *json, const struct view *view, const struct chunk_row *row)
{
    uint64_t classes[CLASS_COUNT] = {0};
    char title[SITE_TITLE];
    if (view->phases.found) chunk_row_classes(&view->rows, row, &view->phases, classes);
    json_object(json, "classes", false);
    for (unsigned c = 0; c < CLASS_COUNT; c++)
        if (classes[c]) json_number(json, class_name(c), classes[c]);
    json_close(json);
    json_number(json, "slot_count", row->slot_count);
    json_array(json, "slots", false);
    for (size_t i = 0; i < row->slot_count && i < SLOTS_SHOWN; i++) {
        const struct chunk_slot *part = &view->rows.slots[row->first_slot + i];
        const struct model_slot *slot = &view->model->slots.at[part->slot];
        json_object(json, NULL, false);
        json_number(json, "slot", slot->id);
        json_number(json, "offset", part->offset);
        json_number(json, "bytes", part->bytes);
        const char *tensor = slot_name(site_titles_tensors(view->titles), part->slot);
        if (tensor) json_text(json, "tensor", tensor);
        json_address(json, "site", slot->site);
        json_text(json, "title", site_title_find(view->titles, slot->site, title));
        json_close(json);
    }
    json_close(json);
}

static int print_json(const struct view *view)
{
    struct json json = {.to = stdout};
    const struct chunk_rows *rows = &view->rows;
    json_object(&json, NULL, true);
    json_bool(&json, "complete", view->model->problem.status == SL_OK);
    json_number(&json, "chunk_bytes", view->model->chunk_bytes);
    json_number(&json, "span_ns", rows->span_ns);
    json_number(&json, "count", rows->count);
    json_bool(&json, "placed", rows->placed);
    json_array(&json, "chunks", true);
    for (size_t r = 0; r < rows->count && r < view->limit; r++) {
        const struct chunk_row *row = &rows->rows[r];
        json_object(&json, NULL, false);
        json_number(&json, "chunk", row->chunk);
        json_address(&json, "address", row->address);
        json_number(&json, "resident_ns", row->resident_ns);
        print_moves(&json, row);
        json_number(&json, "in_bytes", row->in_bytes);
        json_number(&json, "out_bytes", row->out_bytes);
        print_content(&json, view, row);
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
    return EXIT_OK;
}

static int show(struct view *view, enum order order, bool json)
{
    struct chunk_rows *rows = &view->rows;
    view->titles = site_titles_new(view->model);
    bool good = view->titles && phases_find(view->model, &view->phases) && chunk_rows_make(view->model, rows);
    int status = EXIT_OK;
    if (good && rows->count) qsort_r(rows->rows, rows->count, sizeof(*rows->rows), compare, &order);
    if (good)
        status = json ? print_json(view) : print_table(view);
    else
        status = failure("%s: out of memory", view->path);
    chunk_rows_free(rows);
    phases_free(&view->phases);
    site_titles_free(view->titles);
    return status == EXIT_OK ? end_status(view->path, &view->model->problem) : status;
}

int trace_chunks(int argc, char **argv)
{
    bool json = false;
    unsigned order = BY_TRAFFIC;
    uint64_t limit = 30;
    const struct command_option options[] = {
        {"sort", OPTION_WORD, &order, .help = "Sort key. Default: traffic.", .words = orders},
        {"limit", OPTION_NUMBER, &limit, "N", "Print at most N rows (30). 0: print all."},
        {"json", OPTION_SWITCH, &json, .help = "Print a JSON object."},
    };
    const struct command_syntax syntax = {
        .name = "trace chunks",
        .synopsis = "[--sort KEY] [--limit N] [--json] FILE",
        .about =
            "Prints for each chunk:\n"
            "  resident   share of the time during which it was on the device\n"
            "  fetched    number of times it was copied in; of these demand (a launch was already waiting) "
            "and late (planned, but not issued before the launch)\n"
            "  evicted    number of times it was copied out; of these demand (to free memory at once)\n"
            "  new        number of times it was populated: it came without a copy because it was empty\n"
            "  discarded  number of times it left without a copy because all of its contents were freed\n"
            "  in, out    bytes copied\n"
            "  slots      number of allocations in it\n"
            "  holds      their lifetime classes, by bytes; if unknown, the largest allocation\n"
            "  tensor or site  of the largest allocation: the name that PyTorch has for it, or who made it\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    const char *path;
    int status;
    if (!read_command_line(&syntax, argc, argv, &path, &status)) return status;
    struct model *model;
    status = model_open(path, &model);
    if (status != EXIT_OK) return status;
    struct view view = {.path = path, .model = model, .limit = limit ? limit : UINT64_MAX};
    status = show(&view, order, json);
    model_close(model);
    return status;
}
