#include <string.h>
#include <sys/wait.h>

#include "base/text.h"
#include "tools/rehearse/rehearse_report.h"
#include "tools/text/json.h"
#include "tools/text/table.h"

static const char *const fit_names[] = {"alone", "with sluice", "not", "unknown"};
static const char *const limit_names[] = {"kernels", "link to the device", "link to the host",
                                          "the program on the host"};

const char *rehearse_problem(const struct outcome *outcome, char *out, size_t bytes)
{
    char refused[SL_BYTES_TEXT], how[64], when[96];
    *out = 0;
    if (outcome->fits == FITS_ALONE || outcome->fits == FITS_WITH_SLUICE) return out;
    if (WIFSIGNALED(outcome->status))
        snprintf(how, sizeof(how), "by signal %d", WTERMSIG(outcome->status));
    else
        snprintf(how, sizeof(how), "with status %d", WEXITSTATUS(outcome->status));
    if (outcome->steps)
        snprintf(when, sizeof(when), "in the end");
    else
        snprintf(when, sizeof(when), "before its first step was over");
    if (outcome->fits == FITS_NOT)
        snprintf(out, bytes, "an allocation of %s was refused, and the command ended %s",
                 sl_bytes_text(outcome->refused_bytes, refused), how);
    else if (!outcome->ranks)
        snprintf(out, bytes, "the command ended %s and has not used the device", how);
    else
        snprintf(out, bytes, "the command ended %s %s", how, when);
    return out;
}

static double per_second(const struct rehearse_report *report, const struct outcome *outcome)
{
    uint64_t ns = outcome->host_ns > outcome->step_ns ? outcome->host_ns : outcome->step_ns;
    return ns ? (double)report->items * 1e9 / (double)ns : 0;
}

/* --- one card */

static void line(FILE *to, const char *title, const char *text)
{
    fprintf(to, "%-16s %s\n", title, text);
}

static void print_memory(const struct outcome *outcome, FILE *to)
{
    static const char *const forms[] = {"alone: %s of %s are needed",
                                        "with sluice: %s are needed, %s may be on the device",
                                        "no: at least %s are needed, %s may be on the device",
                                        "unknown: at least %s are needed, %s may be on the device"};
    char text[256], need[SL_BYTES_TEXT], budget[SL_BYTES_TEXT], host[SL_BYTES_TEXT], limit[SL_BYTES_TEXT];
    snprintf(text, sizeof(text), forms[outcome->fits], sl_bytes_text(outcome->need_bytes, need),
             sl_bytes_text(outcome->budget_bytes, budget));
    line(to, "fits", text);
    snprintf(text, sizeof(text), "%s of %s", sl_bytes_text(outcome->host_bytes, host),
             sl_bytes_text(outcome->host_limit_bytes, limit));
    line(to, "host memory", text);
}

static void print_step(const struct rehearse_report *report, const struct outcome *outcome, FILE *to)
{
    char text[256], step[TIME_TEXT], kernels[TIME_TEXT], wait[TIME_TEXT], in[SL_BYTES_TEXT],
        out[SL_BYTES_TEXT];
    snprintf(text, sizeof(text), "%s: kernels %s, waiting %s", time_text(outcome->step_ns, step),
             time_text(outcome->kernels_ns, kernels),
             time_text(outcome->step_ns - outcome->kernels_ns, wait));
    line(to, "step", text);
    snprintf(text, sizeof(text), "%s to the device, %s to the host",
             sl_bytes_text(outcome->fetched_bytes, in), sl_bytes_text(outcome->evicted_bytes, out));
    line(to, "moved in it", text);
    if (outcome->host_ns) {
        snprintf(text, sizeof(text), "%s of processor time a step, by this machine: the program and sluice",
                 time_text(outcome->host_ns, step));
        line(to, "host", text);
    }
    line(to, "limited by", limit_names[outcome->limit]);
    if (!report->items) return;
    snprintf(text, sizeof(text), "%.4g a second", per_second(report, outcome));
    line(to, report->item, text);
}

static bool print_curve(const struct outcome *outcome, FILE *to)
{
    static const struct table_column columns[] = {
        {"budget"}, {"step"}, {"slower"}, {"to the device"}, {"to the host"}};
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(*columns)};
    if (!outcome->points) return true;
    fputs("\nPredicted for other budgets (sluice plan):\n", to);
    for (size_t i = 0; i < outcome->points; i++) {
        const struct outcome_point *point = &outcome->curve[i];
        table_bytes(&table, point->budget_bytes);
        table_time(&table, point->step_ns);
        table_cell(&table, "%.2f",
                   outcome->resident_step_ns ? (double)point->step_ns / (double)outcome->resident_step_ns
                                             : 0);
        table_bytes(&table, point->fetched_bytes);
        table_bytes(&table, point->evicted_bytes);
    }
    bool good = table_print(&table, to);
    table_free(&table);
    return good;
}

/* For a shell. */
static void print_word(const char *word, FILE *to)
{
    if (*word &&
        !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%")]) {
        fputs(word, to);
        return;
    }
    fputc('\'', to);
    for (; *word; word++) fputs(*word == '\'' ? "'\\''" : (char[]){*word, 0}, to);
    fputc('\'', to);
}

static void print_advice(const struct rehearse_report *report, const struct outcome *outcome, FILE *to)
{
    fprintf(to, "\nOn the machine: ");
    if (outcome->fits != FITS_ALONE)
        fprintf(to, "sluice run %s%s%s-- ", report->budget ? "--budget " : "",
                report->budget ? report->budget : "", report->budget ? " " : "");
    for (char **word = report->command; *word; word++) {
        if (word != report->command) fputc(' ', to);
        print_word(*word, to);
    }
    fputc('\n', to);
}

static bool print_one(const struct rehearse_report *report, FILE *to)
{
    const struct outcome *outcome = report->of;
    char problem[256], text[160], memory[SL_BYTES_TEXT], host[SL_BYTES_TEXT] = "this machine's";
    if (report->host_bytes) sl_bytes_text(report->host_bytes, host);
    snprintf(text, sizeof(text), "%s: %s, %s GB/s, link %s GB/s; host memory: %s", outcome->card->name,
             sl_bytes_text(card_memory_bytes(outcome->card), memory), outcome->card->device_gbps,
             outcome->card->link_in_gbps, host);
    line(to, "rehearsed for", text);
    print_memory(outcome, to);
    if (*rehearse_problem(outcome, problem, sizeof(problem))) line(to, "but", problem);
    if (!outcome->steps) return true;
    print_step(report, outcome, to);
    if (!print_curve(outcome, to)) return false;
    if (!*problem) print_advice(report, outcome, to);
    return true;
}

/* --- several cards */

static bool print_all(const struct rehearse_report *report, FILE *to)
{
    struct table_column columns[] = {{"card", .text = true},
                                     {"memory"},
                                     {"fits", .text = true},
                                     {"needed"},
                                     {"host"},
                                     {"step"},
                                     {report->item},
                                     {"limited by", .text = true}};
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(*columns)};
    columns[6].title = report->items ? "a second" : "steps a second";
    for (size_t i = 0; i < report->count; i++) {
        const struct outcome *outcome = &report->of[i];
        table_cell(&table, "%s", outcome->card->name);
        table_bytes(&table, card_memory_bytes(outcome->card));
        table_cell(&table, "%s", fit_names[outcome->fits]);
        table_bytes(&table, outcome->need_bytes);
        table_bytes(&table, outcome->host_bytes);
        table_time(&table, outcome->step_ns);
        table_cell(&table, "%.4g",
                   report->items      ? per_second(report, outcome)
                   : outcome->step_ns ? 1e9 / (double)outcome->step_ns
                                      : 0);
        table_cell(&table, "%s", outcome->steps ? limit_names[outcome->limit] : "-");
    }
    bool good = table_print(&table, to);
    table_free(&table);
    for (size_t i = 0; i < report->count && good; i++) {
        char problem[256];
        if (*rehearse_problem(&report->of[i], problem, sizeof(problem)))
            fprintf(to, "%s: %s\n", report->of[i].card->name, problem);
    }
    return good;
}

bool rehearse_print(const struct rehearse_report *report, FILE *to)
{
    bool good = report->count == 1 ? print_one(report, to) : print_all(report, to);
    fputs("Kernels were executed in part, and times are the software device's: docs/software-device.md says "
          "how near they are.\n",
          to);
    return good;
}

/* --- */

static void card_json(struct json *json, const struct rehearse_report *report, const struct outcome *outcome)
{
    char problem[256];
    json_object(json, NULL, true);
    json_text(json, "card", outcome->card->name);
    json_number(json, "card_bytes", card_memory_bytes(outcome->card));
    json_text(json, "fits", fit_names[outcome->fits]);
    json_text(json, "problem", *rehearse_problem(outcome, problem, sizeof(problem)) ? problem : NULL);
    json_number(json, "ranks", outcome->ranks);
    json_number(json, "steps", outcome->steps);
    json_number(json, "need_bytes", outcome->need_bytes);
    json_number(json, "budget_bytes", outcome->budget_bytes);
    json_number(json, "host_bytes", outcome->host_bytes);
    json_number(json, "host_limit_bytes", outcome->host_limit_bytes);
    json_real(json, "step_seconds", (double)outcome->step_ns * 1e-9, 9);
    json_real(json, "kernel_seconds", (double)outcome->kernels_ns * 1e-9, 9);
    json_real(json, "host_seconds", (double)outcome->host_ns * 1e-9, 9);
    json_number(json, "fetched_bytes", outcome->fetched_bytes);
    json_number(json, "evicted_bytes", outcome->evicted_bytes);
    json_text(json, "limited_by", outcome->steps ? limit_names[outcome->limit] : NULL);
    if (report->items) json_real(json, "a_second", per_second(report, outcome), 3);
    json_array(json, "curve", true);
    for (size_t i = 0; i < outcome->points; i++) {
        json_object(json, NULL, false);
        json_number(json, "budget_bytes", outcome->curve[i].budget_bytes);
        json_real(json, "step_seconds", (double)outcome->curve[i].step_ns * 1e-9, 9);
        json_number(json, "fetched_bytes", outcome->curve[i].fetched_bytes);
        json_number(json, "evicted_bytes", outcome->curve[i].evicted_bytes);
        json_close(json);
    }
    json_close(json);
    json_real(json, "processor_seconds", (double)outcome->processor_ns * 1e-9, 3);
    json_number(json, "resident_bytes", outcome->resident_bytes);
    json_close(json);
}

void rehearse_print_json(const struct rehearse_report *report, FILE *to)
{
    struct json json = {.to = to};
    json_object(&json, NULL, true);
    json_text(&json, "kind", "sluice rehearsal");
    json_number(&json, "version", 1);
    json_text(&json, "item", report->items ? report->item : NULL);
    json_number(&json, "items", report->items);
    json_number(&json, "host_memory_bytes", report->host_bytes);
    json_array(&json, "cards", true);
    for (size_t i = 0; i < report->count; i++) card_json(&json, report, &report->of[i]);
    json_close(&json);
    json_close(&json);
}
