/* `sluice trace sites`: memory by allocation site, with call stacks. */
#include "tools/views/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/analyses/sites.h"
#include "tools/model/site_title.h"
#include "tools/model/symbol_file.h"
#include "tools/model/trace_open.h"
#include "tools/text/command_line.h"
#include "tools/text/json.h"
#include "tools/text/messages.h"
#include "tools/text/table.h"
#include "tools/text/terminal.h"
#include "tools/views/sites_folded.h"
#include "tools/views/trace_json.h"

enum { SHOWN = 10, TENSORS_SHOWN = 4, TENSORS_IN_JSON = 64 };
#define FRAME_INDENT "      "

enum order { BY_PEAK, BY_SHARE, BY_BYTES, BY_ALLOCATIONS, BY_KEPT, BY_REFUSED };
static const char *const orders[] = {"peak", "share", "bytes", "allocations", "kept", "refused", NULL};

static bool as_json, as_folded, all_frames;
static unsigned order = BY_PEAK;
static uint64_t limit = UINT64_MAX;

static const struct command_option options[] = {
    {"json", OPTION_SWITCH, &as_json, NULL, "Print JSON with all sites.", NULL},
    {"folded", OPTION_SWITCH, &as_folded, NULL,
     "Print a line for each site with memory at the peak, its frames and its bytes then, as flame graph "
     "tools "
     "read it.",
     NULL},
    {"sort", OPTION_WORD, &order,
     .help = "Sort key: the most memory at one time (peak, the default), the part of the peak of all memory "
             "(share), all allocated bytes, the number of allocations, bytes not freed at the end (kept), or "
             "the number of refused allocations.",
     .words = orders},
    {"limit", OPTION_NUMBER, &limit, "N", "Print the first N sites (10; all with --json).", NULL},
    {"all-frames", OPTION_SWITCH, &all_frames, NULL,
     "Print all native frames, those inside of a line of Python and of the CPython interpreter, too.", NULL},
};
static const struct command_syntax syntax = {
    .name = "trace sites",
    .synopsis = "[--json|--folded] [--sort KEY] [--limit N] [--all-frames] FILE",
    .about = "Prints the allocation sites of the program, the largest first: the most memory that each held "
             "at one time, its part of the peak of all memory, its allocations, the number of launches that "
             "they live, refused allocations, and the call stack. Functions and lines are read from the "
             "files that the program had loaded, if these are regular files with the same build ids.\n",
    .options = options,
    .option_count = sizeof(options) / sizeof(*options),
};

/* Where the code of the frame is: its line, or its offset in a file. */
static void print_place(const struct frame *frame, char *out, size_t bytes)
{
    const char *module = frame->module ? file_name(frame->module->path) : NULL;
    if (frame->function && frame->source)
        snprintf(out, bytes, "%s:%u%s", frame->source, frame->line, frame->inlined ? " (inlined)" : "");
    else
        snprintf(out, bytes, "%s%s0x%" PRIx64, module ? module : "", module ? "+" : "", frame->offset);
}

/* On a terminal, a long function is cut so that the place fits on the line. */
static void print_frame(const struct frame *frame)
{
    char place[512];
    print_place(frame, place, sizeof(place));
    fputs(FRAME_INDENT, stdout);
    if (!frame->function) {
        puts(place);
        return;
    }
    print_fitted(frame->function, strlen(FRAME_INDENT) + 2 + text_columns(place), stdout);
    printf("  %s%s%s\n", style_text(stdout, STYLE_DIM), place, style_text(stdout, STYLE_NONE));
}

/* Prints frame `i`, or a line for the frames of the interpreter from there on. Returns the next frame to
 * print. */
static size_t print_frames_at(const struct frame *frames, size_t count, size_t i)
{
    size_t end = i;
    while (!all_frames && end < count && frame_is_interpreter(&frames[end])) end++;
    if (end < i + 2) {
        print_frame(&frames[i]);
        return i + 1;
    }
    printf(FRAME_INDENT "%s%zu frames of CPython%s\n", style_text(stdout, STYLE_DIM), end - i,
           style_text(stdout, STYLE_NONE));
    return end;
}

/* The operation of the library that the line of Python called; the rest is the library's own. */
static void print_outermost(const struct frame *frames, size_t count)
{
    size_t named = count;
    while (named > 0 && !frames[named - 1].function) named--;
    if (named) print_frame(&frames[named - 1]);
    size_t left = count - (named > 0);
    if (left)
        printf(FRAME_INDENT "%s%zu more native frame%s (--all-frames)%s\n", style_text(stdout, STYLE_DIM),
               left, left == 1 ? "" : "s", style_text(stdout, STYLE_NONE));
}

static void print_native(const struct site_figures *site, const struct frame *frames, size_t count)
{
    size_t own = frames_own(frames, count, site->python_count && !all_frames);
    if (site->python_count && !all_frames)
        print_outermost(frames, own);
    else
        for (size_t i = 0; i < own;) i = print_frames_at(frames, own, i);
}

static void print_allocations(const struct site_figures *site)
{
    char total[SL_BYTES_TEXT];
    printf("; %" PRIu64 " allocation%s of %s", site->allocations, site->allocations == 1 ? "" : "s",
           sl_bytes_text(site->total_bytes, total));
    if (site->allocations > site->kept)
        printf(", freed after %" PRIu64 " launch%s (median)", site->lifetime,
               site->lifetime == 1 ? "" : "es");
    if (site->kept) printf(", %" PRIu64 " never freed", site->kept);
}

static void print_figures(size_t number, const struct site_figures *site)
{
    char text[SL_BYTES_TEXT];
    const char *bold = style_text(stdout, STYLE_BOLD), *none = style_text(stdout, STYLE_NONE);
    printf("%s#%-3zu %s%s", bold, number, sl_bytes_text(site->peak_bytes, text), none);
    printf(", %s of the peak", sl_bytes_text(site->share_bytes, text));
    if (site->allocations) print_allocations(site);
    if (site->refused)
        printf("; %s%" PRIu64 " refused, of up to %s%s", style_text(stdout, STYLE_RED), site->refused,
               sl_bytes_text(site->refused_bytes, text), none);
    printf("; site 0x%" PRIx64 "\n", site->site);
}

static void print_python(const struct site_figures *site)
{
    for (size_t i = 0; i < site->python_count; i++) {
        struct python_place place = python_place(&site->python[i]);
        printf(FRAME_INDENT "Python %.*s  %s%s:%" PRIu32 "%s\n", (int)place.function_bytes, place.function,
               style_text(stdout, STYLE_DIM), place.file, site->python[i].line,
               style_text(stdout, STYLE_NONE));
    }
}

void python_json(struct json *json, const struct model_python *frame)
{
    struct python_place place = python_place(frame);
    char function[SL_TRACE_NAME_MAX + 1];
    snprintf(function, sizeof(function), "%.*s", (int)place.function_bytes, place.function);
    json_object(json, NULL, false);
    json_text(json, "function", function);
    json_text(json, "file", place.file);
    json_number(json, "line", frame->line);
    json_close(json);
}

static void print_site(struct symbols *symbols, size_t number, const struct site_figures *site)
{
    struct frame frames[FRAMES_MAX];
    char title[SITE_TITLE];
    size_t count = symbols_frames(symbols, site->frames, frames, FRAMES_MAX);
    print_figures(number, site);
    if (site_node_title(frames, count, title)) printf(FRAME_INDENT "%s\n", title);
    print_python(site);
    print_native(site, frames, count);
    if (!count) puts("      the trace has no call stack of it");
}

static void print_remarks(const struct model *model, const struct symbols *symbols)
{
    for (size_t i = 0; i < model->modules.count; i++) {
        const struct model_module *module = &model->modules.at[i];
        const char *remark = symbols_remark(symbols, module);
        if (remark && symbol_files_are_read()) printf("no function names of %s: %s\n", module->path, remark);
    }
    if (!symbol_files_are_read() && model->modules.count)
        puts("no function names: this sluice was built without libdw");
}

/* The names of tensors that a site allocated, as often as they are found; those beyond `room` are counted. */
static size_t tensors_of(const struct slot_names *names, const struct site_figures *site, const char *out[],
                         size_t room)
{
    size_t count = 0;
    for (size_t i = 0; i < names->count; i++) {
        if (names->at[i].site != site->site) continue;
        if (count < room) out[count] = names->at[i].text;
        count++;
    }
    return count;
}

static void print_tensors(const struct slot_names *names, const struct site_figures *site)
{
    const char *texts[TENSORS_SHOWN];
    size_t count = tensors_of(names, site, texts, TENSORS_SHOWN);
    for (size_t i = 0; i < count && i < TENSORS_SHOWN; i++)
        printf("%s%s", i ? ", " : FRAME_INDENT "tensors: ", texts[i]);
    if (count > TENSORS_SHOWN) printf(" and %zu more", count - TENSORS_SHOWN);
    if (count) putchar('\n');
}

static void print_people(const struct model *model, const struct sites *sites, struct site_titles *titles)
{
    struct symbols *symbols = site_titles_symbols(titles);
    char peak[SL_BYTES_TEXT];
    size_t shown = limit < sites->count ? (size_t)limit : sites->count;
    printf("%zu site%s; together they held %s at the peak\n", sites->count, sites->count == 1 ? "" : "s",
           sl_bytes_text(sites->peak_bytes, peak));
    for (size_t i = 0; i < shown; i++) {
        print_site(symbols, i + 1, &sites->at[i]);
        print_tensors(site_titles_tensors(titles), &sites->at[i]);
    }
    if (shown < sites->count) printf("and %zu more (--limit)\n", sites->count - shown);
    print_remarks(model, symbols);
}

static void print_hexadecimal(struct json *json, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "0x%" PRIx64, value);
    json_text(json, key, text);
}

void frame_json(struct json *json, const struct frame *frame)
{
    json_object(json, NULL, false);
    json_text(json, "module", frame->module ? frame->module->path : NULL);
    print_hexadecimal(json, "offset", frame->offset);
    json_text(json, "function", frame->function);
    json_text(json, "source", frame->source);
    if (frame->source) json_number(json, "line", frame->line);
    if (frame->inlined) json_bool(json, "inlined", true);
    if (frame_is_interpreter(frame)) json_bool(json, "interpreter", true);
    json_close(json);
}

void site_json(struct json *json, struct site_titles *titles, const struct site_figures *site,
               const struct frame frames[], size_t count)
{
    const struct site_stack stack = site_stack_of(site);
    char title[SITE_TITLE];
    print_hexadecimal(json, "site", site->site);
    json_text(json, "title", site_title(titles, &stack, title));
    json_number(json, "peak_bytes", site->peak_bytes);
    json_number(json, "share_bytes", site->share_bytes);
    json_number(json, "live_bytes", site->live_bytes);
    json_number(json, "total_bytes", site->total_bytes);
    json_number(json, "allocations", site->allocations);
    json_number(json, "never_freed", site->kept);
    if (site->allocations > site->kept)
        json_number(json, "median_launches", site->lifetime);
    else
        json_text(json, "median_launches", NULL);
    json_number(json, "refused", site->refused);
    json_number(json, "refused_bytes", site->refused_bytes);
    const char *texts[TENSORS_IN_JSON];
    size_t tensors = tensors_of(site_titles_tensors(titles), site, texts, TENSORS_IN_JSON);
    json_number(json, "tensor_count", tensors);
    json_array(json, "tensors", false);
    for (size_t i = 0; i < tensors && i < TENSORS_IN_JSON; i++) json_text(json, NULL, texts[i]);
    json_close(json);
    json_number(json, "own_frames", frames_own(frames, count, site->python_count > 0));
}

static void print_json_site(struct json *json, struct site_titles *titles, const struct site_figures *site)
{
    struct frame frames[FRAMES_MAX];
    size_t count = symbols_frames(site_titles_symbols(titles), site->frames, frames, FRAMES_MAX);
    json_object(json, NULL, true);
    site_json(json, titles, site, frames, count);
    json_array(json, "python", true);
    for (size_t i = 0; i < site->python_count; i++) python_json(json, &site->python[i]);
    json_close(json);
    json_array(json, "frames", true);
    for (size_t i = 0; i < count; i++) frame_json(json, &frames[i]);
    json_close(json);
    json_close(json);
}

static void print_json(const struct model *model, const struct sites *sites, struct site_titles *titles)
{
    struct json json = {.to = stdout};
    json_object(&json, NULL, true);
    json_number(&json, "peak_bytes", sites->peak_bytes);
    json_array(&json, "sites", true);
    for (size_t i = 0; i < sites->count && i < limit; i++) print_json_site(&json, titles, &sites->at[i]);
    json_close(&json);
    json_array(&json, "modules", true);
    for (size_t i = 0; i < model->modules.count; i++) {
        json_object(&json, NULL, false);
        json_text(&json, "path", model->modules.at[i].path);
        json_text(&json, "remark", symbols_remark(site_titles_symbols(titles), &model->modules.at[i]));
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
}

static uint64_t sort_key(const struct site_figures *site)
{
    const uint64_t keys[] = {
        [BY_PEAK] = site->peak_bytes,         [BY_SHARE] = site->share_bytes, [BY_BYTES] = site->total_bytes,
        [BY_ALLOCATIONS] = site->allocations, [BY_KEPT] = site->live_bytes,   [BY_REFUSED] = site->refused};
    return keys[order];
}

/* Sites with the same key stay in the order of their peaks. */
static int compare(const void *one, const void *other)
{
    const struct site_figures *a = one, *b = other;
    uint64_t key_a = sort_key(a), key_b = sort_key(b);
    if (key_a == key_b) key_a = a->peak_bytes, key_b = b->peak_bytes;
    if (key_a != key_b) return key_a > key_b ? -1 : 1;
    return a->site < b->site ? -1 : a->site > b->site;
}

static void print(const struct model *model, struct sites *sites, struct site_titles *titles)
{
    if (sites->count) qsort(sites->at, sites->count, sizeof(*sites->at), compare);
    if (as_folded)
        sites_folded(sites, titles, stdout);
    else
        (as_json ? print_json : print_people)(model, sites, titles);
}

int trace_sites(int argc, char **argv)
{
    const char *path;
    int status;
    struct model *model;
    if (!read_command_line(&syntax, argc, argv, &path, &status)) return status;
    if (as_json && as_folded) return usage_error("trace sites: --json and --folded exclude each other");
    if (limit == UINT64_MAX && !as_json) limit = SHOWN;
    status = model_open(path, &model);
    if (status != EXIT_OK) return status;
    struct sites sites = {0};
    struct site_titles *titles = site_titles_new(model);
    if (titles && sites_find(model, &sites)) {
        print(model, &sites, titles);
        status = end_status(path, &model->problem);
    } else {
        status = failure("%s: out of memory", path);
    }
    site_titles_free(titles);
    sites_free(&sites);
    model_close(model);
    return status;
}
