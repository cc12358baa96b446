#include "tools/views/trace.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "tools/analyses/check.h"
#include "tools/model/trace_open.h"
#include "tools/text/command_line.h"
#include "tools/text/json.h"
#include "tools/text/messages.h"
#include "tools/text/terminal.h"

enum { DAMAGES_SHOWN = 20 };

/* The key of each kind in JSON, and its description. */
static const struct {
    const char *key, *words;
} lacks[LACK_KINDS] = {
    [LACK_ACCESSES] = {"launches_without_accesses", "launches whose accesses are unknown"},
    [LACK_LAUNCHES] = {"accesses_without_launch", "accesses without their launch"},
    [LACK_ALLOCATIONS] = {"frees_without_allocation", "frees without their allocation"},
    [LACK_FREES] = {"allocations_without_free", "allocations of a slot that was not freed"},
    [LACK_NAMES] = {"launches_without_name", "launches of kernels without a name"},
};

static uint64_t size_of(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && S_ISREG(file.st_mode) ? (uint64_t)file.st_size : 0;
}

static void print_file(const char *path, const struct sluice_trace_header *header, const struct check *check)
{
    char bytes[SL_BYTES_TEXT];
    printf("file       %s: format %u.%u, %s\n", path, header->major_version, header->minor_version,
           sl_bytes_text(size_of(path), bytes));
    printf("program    %s (process %" PRIu32 ")\n", program_name(header).text, header->process);
    printf("readable   %" PRIu64 " records in %" PRIu64 " blocks of %" PRIu64 " threads\n", check->records,
           check->blocks, check->threads);
    printf("launches   %" PRIu64, check->launches);
    if (check->launches < check->last_tick) printf(" of %" PRIu64 ": the others are lost", check->last_tick);
    putchar('\n');
}

static const char *without_prefix(const char *text)
{
    static const char prefix[] = "damaged: ";
    return strncmp(text, prefix, sizeof(prefix) - 1) ? text : text + sizeof(prefix) - 1;
}

static void print_damages(const struct check *check)
{
    for (size_t i = 0; i < check->damage_count && i < DAMAGES_SHOWN; i++) {
        const struct check_damage *damage = &check->damages[i];
        printf("%sdamaged%s    at byte %" PRIu64 ", after tick %" PRIu64 ": %s; ",
               style_text(stdout, STYLE_RED), style_text(stdout, STYLE_NONE), damage->problem.offset,
               damage->tick, without_prefix(damage->problem.text));
        if (damage->goes_on)
            printf("%" PRIu64 " records are lost up to byte %" PRIu64 ", tick %" PRIu64 "\n", damage->lost,
                   damage->next_offset, damage->next_tick);
        else
            puts(check->end.status == SL_OK ? "the end of the trace follows"
                                            : "nothing after it can be read");
    }
    if (check->damage_count > DAMAGES_SHOWN)
        printf("           and at %zu more places\n", check->damage_count - DAMAGES_SHOWN);
    const struct sl_trace_problem *end = &check->end;
    if (end->status != SL_OK && end->status != SL_ERR_FORMAT)
        printf("%sends early%s at byte %" PRIu64 ", after tick %" PRIu64 ": %s\n",
               style_text(stdout, STYLE_RED), style_text(stdout, STYLE_NONE), end->offset, check->last_tick,
               end->text);
}

static void print_lacks(const struct check *check)
{
    if (check->unwritten)
        printf("gaps       %" PRIu64 " records at %" PRIu64
               " places were dropped: the trace could not keep up\n",
               check->unwritten, check->gaps);
    if (check->overwritten)
        printf("limit      %" PRIu64 " records were overwritten by later ones\n", check->overwritten);
    for (unsigned kind = 0; kind < LACK_KINDS; kind++) {
        const struct check_lack *lack = &check->lacks[kind];
        if (!lack->count) continue;
        printf("missing    %" PRIu64 " %s; the first at byte %" PRIu64 ", tick %" PRIu64 "\n", lack->count,
               lacks[kind].words, lack->offset, lack->tick);
    }
}

static void print_verdict(const struct check *check)
{
    bool whole = check_is_whole(check);
    printf("\n%s", style_text(stdout, whole ? STYLE_GREEN : STYLE_RED));
    if (whole)
        fputs(check->unwritten || check->overwritten ? "The file is complete; some records were not kept."
                                                     : "The file is complete.",
              stdout);
    else if (check->damage_count)
        printf("The file is damaged: %" PRIu64 " records are lost%s; all others are readable.",
               check->damaged, check->end.status == SL_OK ? "" : ", and its end");
    else if (check->end.status != SL_OK)
        fputs("The file has no end; its records are readable.", stdout);
    else
        fputs("The file is readable, but its records are inconsistent.", stdout);
    puts(style_text(stdout, STYLE_NONE));
}

static void put_place(struct json *json, const struct sl_trace_problem *problem, uint64_t tick)
{
    json_number(json, "offset", problem->offset);
    json_number(json, "behind_tick", tick);
    json_text(json, "text", problem->text);
}

static void print_json(const struct check *check)
{
    struct json json = {.to = stdout};
    json_object(&json, NULL, true);
    json_bool(&json, "whole", check_is_whole(check));
    json_number(&json, "records", check->records);
    json_number(&json, "blocks", check->blocks);
    json_number(&json, "threads", check->threads);
    json_number(&json, "launches", check->launches);
    json_number(&json, "last_tick", check->last_tick);
    json_array(&json, "damages", true);
    for (size_t i = 0; i < check->damage_count; i++) {
        const struct check_damage *damage = &check->damages[i];
        json_object(&json, NULL, false);
        put_place(&json, &damage->problem, damage->tick);
        json_number(&json, "lost_records", damage->lost);
        if (damage->goes_on) {
            json_number(&json, "next_offset", damage->next_offset);
            json_number(&json, "next_tick", damage->next_tick);
        }
        json_close(&json);
    }
    json_close(&json);
    if (check->end.status != SL_OK && check->end.status != SL_ERR_FORMAT) {
        json_object(&json, "ends_early", false);
        put_place(&json, &check->end, check->last_tick);
        json_close(&json);
    }
    json_number(&json, "lost_records", check->damaged);
    json_number(&json, "unwritten_records", check->unwritten);
    json_number(&json, "overwritten_records", check->overwritten);
    json_object(&json, "missing", true);
    for (unsigned kind = 0; kind < LACK_KINDS; kind++) {
        if (!check->lacks[kind].count) continue;
        json_object(&json, lacks[kind].key, false);
        json_number(&json, "count", check->lacks[kind].count);
        json_number(&json, "first_offset", check->lacks[kind].offset);
        json_number(&json, "first_tick", check->lacks[kind].tick);
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
}

int trace_check(int argc, char **argv)
{
    bool json = false;
    const struct command_option options[] = {
        {"json", OPTION_SWITCH, &json, .help = "Print a JSON object."},
    };
    const struct command_syntax syntax = {
        .name = "trace check",
        .synopsis = "[--json] FILE",
        .about = "Verifies the header of a trace, the checksum of every block, every record, and that "
                 "records refer to existing records. Prints where the file is damaged, what is lost there, "
                 "and where the next readable part begins. Records that the program dropped, or that the "
                 "file's limit overwrote, are reported but are not damage. Exit status 0: the file is "
                 "complete; 1: it is not.\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    const char *path;
    int status;
    if (!read_command_line(&syntax, argc, argv, &path, &status)) return status;
    struct sl_trace_reader *reader;
    status = open_trace(path, &reader);
    if (status != EXIT_OK) return status;
    struct check check;
    struct progress progress;
    progress_start_file(&progress, path);
    bool good = check_trace(reader, &progress, &check);
    progress_end(&progress);
    if (!good) {
        status = failure("%s: out of memory", path);
    } else if (json) {
        print_json(&check);
    } else {
        print_file(path, sl_trace_reader_header(reader), &check);
        print_damages(&check);
        print_lacks(&check);
        print_verdict(&check);
    }
    if (good && !check_is_whole(&check)) status = EXIT_FAILED;
    check_free(&check);
    sl_trace_reader_close(reader);
    return status;
}
