/* `sluice trace timeline`: a drawing of one iteration: memory by class, traffic by cause, stalls. */
#include "tools/views/trace.h"

#include <inttypes.h>

#include "base/text.h"
#include "tools/analyses/timeline.h"
#include "tools/model/trace_open.h"
#include "tools/text/command_line.h"
#include "tools/text/json.h"
#include "tools/text/messages.h"
#include "tools/text/table.h"
#include "tools/text/terminal.h"
#include "tools/views/canvas.h"
#include "tools/views/timeline_ranks.h"
#include "tools/views/trace_json.h"

struct drawing {
    const struct model *model;
    const struct phases *phases;
    struct timeline timeline;
    struct canvas canvas;
    uint64_t step; /* 0: the whole trace */
};

static void draw(const struct drawing *drawing, const char *label, enum terminal_style style,
                 const uint64_t *row, uint64_t full, const char *figure, const char *what)
{
    canvas_row(&drawing->canvas, label, style, row, full, figure, what);
}

static void draw_memory(const struct drawing *drawing)
{
    static const enum terminal_style styles[CLASS_COUNT] = {
        STYLE_DIM, STYLE_BLUE, STYLE_YELLOW, STYLE_MAGENTA, STYLE_GREEN, STYLE_CYAN, STYLE_RED};
    const struct timeline *t = &drawing->timeline;
    char text[SL_BYTES_TEXT];
    for (unsigned c = 1; c <= CLASS_COUNT; c++) {
        unsigned class = c % CLASS_COUNT; /* unknown class last */
        uint64_t peak = row_most(t->of_class[class], t->count);
        if (peak)
            draw(drawing, class_name(class), styles[class], t->of_class[class], peak,
                 sl_bytes_text(peak, text), "peak");
    }
    uint64_t peak = row_most(t->resident, t->count);
    draw(drawing, "in all", STYLE_NONE, t->resident, peak, sl_bytes_text(peak, text), "peak");
}

static void draw_traffic(const struct drawing *drawing)
{
    static const char *const ways[DIRECTIONS] = {"in", "out"};
    static const enum terminal_style styles[MOVE_CAUSES] = {STYLE_GREEN, STYLE_RED, STYLE_YELLOW};
    const struct timeline *t = &drawing->timeline;
    uint64_t stretch_ns = (t->end_ns - t->begin_ns) / t->count + 1;
    for (unsigned d = 0; d < DIRECTIONS; d++) {
        char label[32], text[SL_BYTES_TEXT];
        for (unsigned c = 0; c < MOVE_CAUSES; c++) {
            uint64_t bytes = row_sum(t->moved[d][c], t->count);
            snprintf(label, sizeof(label), "%s, %s", ways[d], move_cause_name(c));
            if (bytes)
                draw(drawing, label, styles[c], t->moved[d][c], row_most(t->moved[d][c], t->count),
                     sl_bytes_text(bytes, text), "sum");
        }
        if (!t->has_transfers) continue;
        double busy = (double)row_sum(t->busy_ns[d], t->count) / (double)(t->end_ns - t->begin_ns);
        snprintf(label, sizeof(label), "%s, link busy", ways[d]);
        snprintf(text, sizeof(text), "%.0f%%", busy * 100);
        draw(drawing, label, STYLE_NONE, t->busy_ns[d], stretch_ns, text, "mean");
    }
    char text[TIME_TEXT];
    uint64_t stalled = row_sum(t->stall_ns, t->count);
    /* A share of the column's time has no meaning if the stall is measured by another clock. */
    uint64_t full = t->other_clock ? row_most(t->stall_ns, t->count) : stretch_ns;
    if (stalled) draw(drawing, "stalled", STYLE_RED, t->stall_ns, full, time_text(stalled, text), "sum");
}

static void print_notes(const struct drawing *drawing)
{
    const struct timeline *t = &drawing->timeline;
    char text[SL_BYTES_TEXT];
    if (drawing->model->budget_bytes && drawing->model->moves.count)
        printf("The budget is %s.\n", sl_bytes_text(drawing->model->budget_bytes, text));
    if (!drawing->phases->step_count) puts("No iterations were found: the drawing shows the whole trace.");
    if (t->by_class_lives)
        puts("The places of chunks are unknown: the classes include live memory on the device and on the "
             "host.");
    if (!drawing->model->moves.count)
        puts("Nothing was moved: all live memory is counted.");
    else if (t->other_clock)
        puts("The device has its own clock: the axis shows the program's time; traffic is\n"
             "drawn when it was issued; the sum of the stalls is the device's time.");
    else if (!t->has_transfers)
        puts("Transfers were not measured: traffic is drawn at its time of issue.");
}

static void print_text(struct drawing *drawing)
{
    char text[TIME_TEXT];
    const struct timeline *t = &drawing->timeline;
    printf("%s", program_name(&drawing->model->header).text);
    if (drawing->step)
        printf(", iteration %" PRIu64 " of %" PRIu32, drawing->step, drawing->phases->step_count);
    printf(", %s\n", time_text(t->end_ns - t->begin_ns, text));
    canvas_phases(&drawing->canvas, "phase", t->phase);
    draw_memory(drawing);
    draw_traffic(drawing);
    canvas_axis(&drawing->canvas, t->end_ns - t->begin_ns, t->other_clock ? "program's time" : "");
    print_notes(drawing);
}

static void print_row(struct json *json, const char *key, const uint64_t *row, uint32_t count)
{
    json_array(json, key, false);
    for (uint32_t s = 0; s < count; s++) json_number(json, NULL, row[s]);
    json_close(json);
}

static void write_json(struct json *json, const char *key, const struct drawing *drawing)
{
    static const char *const ways[DIRECTIONS] = {"in", "out"};
    const struct timeline *t = &drawing->timeline;
    json_object(json, key, true);
    json_bool(json, "complete", drawing->model->problem.status == SL_OK);
    json_number(json, "iterations", drawing->phases->step_count);
    if (drawing->step) json_number(json, "iteration", drawing->step);
    json_number(json, "begin_ns", t->begin_ns - drawing->model->header.monotonic_ns);
    json_number(json, "duration_ns", t->end_ns - t->begin_ns);
    json_number(json, "budget", drawing->model->budget_bytes);
    json_bool(json, "transfers", t->has_transfers);
    json_bool(json, "other_clock", t->other_clock);
    json_text(json, "classes_of", t->by_class_lives ? "lives" : "device");
    json_array(json, "phases", false);
    for (uint32_t s = 0; s < t->count; s++) json_text(json, NULL, phase_name(t->phase[s]));
    json_close(json);
    json_object(json, "memory", true);
    for (unsigned c = 0; c < CLASS_COUNT; c++) print_row(json, class_name(c), t->of_class[c], t->count);
    print_row(json, "all", t->resident, t->count);
    json_close(json);
    for (unsigned d = 0; d < DIRECTIONS; d++) {
        json_object(json, ways[d], true);
        for (unsigned c = 0; c < MOVE_CAUSES; c++)
            print_row(json, move_cause_name(c), t->moved[d][c], t->count);
        print_row(json, "busy_ns", t->busy_ns[d], t->count);
        json_close(json);
    }
    print_row(json, "stall_ns", t->stall_ns, t->count);
    json_close(json);
}

void timeline_span(const struct model *model, const struct phases *phases, uint64_t number,
                   uint64_t *begin_ns, uint64_t *end_ns)
{
    *begin_ns = model->first_ns;
    *end_ns = model->last_ns;
    if (!number) return;
    const struct step *step = &phases->steps[number - 1];
    *begin_ns = model->launches.at[step->begin].time_ns;
    if (step->end < model->launches.count) *end_ns = model->launches.at[step->end].time_ns;
}

/* Sets the rest of a drawing with model, phases and step. False: out of memory. */
static bool make(struct drawing *drawing, uint32_t columns)
{
    uint64_t begin_ns, end_ns;
    timeline_span(drawing->model, drawing->phases, drawing->step, &begin_ns, &end_ns);
    return timeline_make(drawing->model, drawing->phases, begin_ns, end_ns, columns, &drawing->timeline);
}

bool timeline_json(struct json *json, const char *key, const struct model *model, const struct phases *phases,
                   uint64_t step, uint32_t columns)
{
    struct drawing drawing = {.model = model, .phases = phases, .step = step};
    bool good = make(&drawing, columns);
    if (good) write_json(json, key, &drawing);
    timeline_free(&drawing.timeline);
    return good;
}

static int show(const char *path, struct drawing *drawing, struct phases *phases, bool as_json)
{
    struct json json = {.to = stdout};
    if (!phases_find(drawing->model, phases)) return failure("%s: out of memory", path);
    if (drawing->step > phases->step_count)
        return usage_error("trace timeline: there is no iteration %" PRIu64 "; %s has %" PRIu32,
                           drawing->step, path, phases->step_count);
    drawing->phases = phases;
    if (!drawing->step) drawing->step = usual_step(phases);
    if (!make(drawing, drawing->canvas.columns)) return failure("%s: out of memory", path);
    if (as_json)
        write_json(&json, NULL, drawing);
    else
        print_text(drawing);
    return EXIT_OK;
}

int trace_timeline(int argc, char **argv)
{
    bool json = false;
    struct phases phases = {0};
    struct drawing drawing = {.step = UINT64_MAX};
    uint64_t width = terminal_width(stdout);
    const struct command_option options[] = {
        {"width", OPTION_NUMBER, &width, "N",
         "Number of columns, at least 24. Default: the width of the terminal."},
        {"iteration", OPTION_NUMBER, &drawing.step, "N",
         "The Nth training step, counted from 1. Default: the last but one."},
        {"json", OPTION_SWITCH, &json, .help = "Print a JSON object with a figure for each column."},
    };
    const struct command_syntax syntax = {
        .name = "trace timeline",
        .synopsis = "[--width N] [--iteration N] [--json] FILE...",
        .about =
            "Draws one iteration: its phases, device memory by lifetime class, traffic in each direction by "
            "cause, how busy the link was, and stalls. A full block is the row's own peak or, for busy and "
            "stalled, all of the column's time. Each row ends with its peak, sum or mean. Times are the "
            "program's; traffic is drawn when it was on the link or, if the device has its own clock, when "
            "it "
            "was issued.\n"
            "Several files are the traces of the ranks of one job, which are drawn on one axis, each with "
            "the memory on the device, traffic, stalls, and waits in collectives for other ranks.\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    char **paths;
    size_t count;
    int status;
    if (!read_command_line_of_files(&syntax, argc, argv, 1, &paths, &count, &status)) return status;
    if (width < CANVAS_LEAST || width > TIMELINE_MOST)
        return usage_error("trace timeline: --width takes a number from %d to %d", CANVAS_LEAST,
                           TIMELINE_MOST);
    if (!drawing.step) return usage_error("trace timeline: iterations count from 1");
    if (drawing.step == UINT64_MAX) drawing.step = 0;
    struct job job = {.command = syntax.name, .paths = paths, .count = count};
    drawing.canvas = canvas_of_width((unsigned)width);
    status = job_open(&job);
    if (status == EXIT_OK && count > 1) {
        status = timeline_ranks(&job, &drawing.canvas, drawing.step, json);
    } else if (status == EXIT_OK) {
        drawing.model = job.models[0];
        status = show(paths[0], &drawing, &phases, json);
    }
    timeline_free(&drawing.timeline);
    phases_free(&phases);
    return job_close(&job, status);
}
