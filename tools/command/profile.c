/* `sluice profile`: prints a profile. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/text.h"
#include "launch/symbols.h"
#include "profile/profile.h"
#include "tools/command/commands.h"
#include "tools/text/command_line.h"
#include "tools/text/file_kind.h"
#include "tools/text/json.h"
#include "tools/text/messages.h"

struct figures {
    uint64_t launches, allocations, frees; /* in the string */
    uint64_t launch_symbols, timed;        /* symbols of launches, and those with a known time */
    uint64_t slots, short_lived;
    uint64_t slot_bytes; /* total of all slots */
};

static struct figures count(const struct sl_profile *profile)
{
    struct figures figures = {.slots = sl_profile_slots(profile)};
    for (uint32_t i = 0; i < profile->string_count; i++) {
        const struct sl_profile_symbol *symbol = &profile->symbols[profile->string[i]];
        figures.launches += symbol->kind == SL_SYMBOL_LAUNCH;
        figures.allocations += symbol->kind == SL_SYMBOL_ALLOC;
        figures.frees += symbol->kind == SL_SYMBOL_FREE;
    }
    for (uint32_t s = 1; s < profile->symbol_count; s++) {
        figures.launch_symbols += profile->symbols[s].kind == SL_SYMBOL_LAUNCH;
        figures.timed += profile->symbols[s].duration_ns > 0;
    }
    for (uint32_t k = 0; k < profile->key_count; k++) {
        figures.short_lived += profile->keys[k].short_lived ? profile->keys[k].slots : 0;
        figures.slot_bytes += profile->keys[k].slots * profile->keys[k].bytes;
    }
    return figures;
}

/* Makes the texts from a file safe to print on a terminal. */
static void defuse(struct sl_profile *profile)
{
    sl_defuse(profile->sluice);
    sl_defuse(profile->command);
    sl_defuse(profile->wanted.backing);
    for (uint32_t i = 0; i < profile->object_count; i++) sl_defuse(profile->objects[i].name);
}

static void print_row(const char *what, const char *value)
{
    printf("%-20s %s\n", what, value);
}

static void print_bytes(const char *what, uint64_t bytes)
{
    char text[SL_BYTES_TEXT];
    print_row(what, bytes ? sl_bytes_text(bytes, text) : "from the environment, or automatic");
}

static void build_id_text(const struct sl_object *object, char text[33])
{
    uint8_t bytes[16];
    memcpy(bytes, object->build_id, sizeof bytes);
    for (int i = 0; i < 16; i++) snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

static void print_text(const struct sl_profile *profile)
{
    const struct sl_profile_properties *properties = &profile->properties;
    struct figures figures = count(profile);
    time_t written = (time_t)profile->written_s;
    struct tm utc;
    char when[32] = "unknown", need[SL_BYTES_TEXT], id[33];
    if (gmtime_r(&written, &utc)) strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &utc);
    print_row("program", profile->object_count ? profile->objects[0].name : "any");
    if (profile->command[0]) print_row("command", profile->command);
    printf("%-20s %s, by sluice %s\n", "written", when, profile->sluice);
    print_bytes("wanted budget", profile->wanted.budget_bytes);
    print_bytes("wanted chunk", profile->wanted.chunk_bytes);
    if (profile->wanted.backing[0]) print_row("wanted backing", profile->wanted.backing);
    if (properties->need_bytes) print_row("need", sl_bytes_text(properties->need_bytes, need));
    if (properties->budget_bytes) print_bytes("learned with budget", properties->budget_bytes);
    if (properties->chunk_bytes) print_bytes("learned with chunk", properties->chunk_bytes);
    if (properties->link_in_bytes_per_s)
        printf("%-20s %.1f GB/s in, %.1f GB/s out\n", "link", (double)properties->link_in_bytes_per_s / 1e9,
               (double)properties->link_out_bytes_per_s / 1e9);
    printf("%-20s %" PRIu32 " events: %" PRIu64 " launches, %" PRIu64 " allocations, %" PRIu64 " frees\n",
           "predicted", profile->string_count, figures.launches, figures.allocations, figures.frees);
    printf("%-20s %" PRIu64 ", of %" PRIu64 " events at the end\n", "iterations", properties->iterations,
           properties->period);
    printf("%-20s %" PRIu64 " different ones, %" PRIu64 " of them with a known time\n", "launches",
           figures.launch_symbols, figures.timed);
    printf("%-20s %" PRIu32 "\n", "kernels", profile->kernel_count);
    printf("%-20s %" PRIu64 " slots (%s), %" PRIu64 " of them short-lived\n", "allocations", figures.slots,
           sl_bytes_text(figures.slot_bytes, need), figures.short_lived);
    for (uint32_t d = 0; d < profile->other_count; d++)
        printf("%-20s %" PRIu32 " events of device %" PRIu32 "\n", "also", profile->others[d].string_count,
               d + 1);
    for (uint32_t i = 0; i < profile->object_count; i++) {
        build_id_text(&profile->objects[i], id);
        printf("%-20s %s %s\n", i ? "" : "code", id, profile->objects[i].name);
    }
}

static void json_facts(struct json *json, const struct sl_profile *profile)
{
    const struct sl_profile_properties *properties = &profile->properties;
    json_number(json, "need_bytes", properties->need_bytes);
    json_number(json, "budget_bytes", properties->budget_bytes);
    json_number(json, "chunk_bytes", properties->chunk_bytes);
    json_number(json, "link_in", properties->link_in_bytes_per_s);
    json_number(json, "link_out", properties->link_out_bytes_per_s);
    json_number(json, "iterations", properties->iterations);
    json_number(json, "period", properties->period);
    json_number(json, "fed", properties->fed);
    json_number(json, "predicted", properties->predicted);
}

static void print_json(const struct sl_profile *profile)
{
    struct json json = {.to = stdout};
    struct figures figures = count(profile);
    char id[33];
    json_object(&json, NULL, true);
    json_text(&json, "program", profile->object_count ? profile->objects[0].name : NULL);
    json_text(&json, "command", profile->command);
    json_text(&json, "sluice", profile->sluice);
    json_number(&json, "written_s", profile->written_s);
    json_object(&json, "wanted", false);
    json_number(&json, "budget_bytes", profile->wanted.budget_bytes);
    json_number(&json, "chunk_bytes", profile->wanted.chunk_bytes);
    json_text(&json, "backing", profile->wanted.backing);
    json_close(&json);
    json_facts(&json, profile);
    json_number(&json, "events", profile->string_count);
    json_number(&json, "launches", figures.launches);
    json_number(&json, "allocations", figures.allocations);
    json_number(&json, "frees", figures.frees);
    json_number(&json, "launch_symbols", figures.launch_symbols);
    json_number(&json, "timed", figures.timed);
    json_number(&json, "kernels", profile->kernel_count);
    json_number(&json, "slots", figures.slots);
    json_number(&json, "slot_bytes", figures.slot_bytes);
    json_number(&json, "short_lived", figures.short_lived);
    json_array(&json, "other_devices_events", false);
    for (uint32_t d = 0; d < profile->other_count; d++)
        json_number(&json, NULL, profile->others[d].string_count);
    json_close(&json);
    json_array(&json, "code", true);
    for (uint32_t i = 0; i < profile->object_count; i++) {
        build_id_text(&profile->objects[i], id);
        json_object(&json, NULL, false);
        json_text(&json, "name", profile->objects[i].name);
        json_text(&json, "build_id", id);
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
}

int command_profile(int argc, char **argv)
{
    bool json = false;
    const struct command_option options[] = {
        {"json", OPTION_SWITCH, &json, .help = "Print a JSON object."},
    };
    const struct command_syntax syntax = {
        .name = "profile",
        .synopsis = "[--json] FILE",
        .about = "Prints the contents of a profile that SLUICE_PROFILE wrote: the program, the settings for "
                 "the next run, the events that it predicts, and the speed of the link.\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    const char *path;
    int status;
    struct sl_profile profile;
    if (!read_command_line(&syntax, argc, argv, &path, &status)) return status;
    enum sl_status read = sl_profile_read(path, &profile, NULL);
    struct stat at;
    if (read == SL_ERR_IO && stat(path, &at) == 0 && S_ISREG(at.st_mode) && !at.st_size)
        return failure("%s: is empty", path);
    if (read == SL_ERR_IO) return failure("cannot read %s: %s", path, strerror(errno));
    if (read)
        return failure("%s: not a readable profile: %s%s", path, sl_status_text(read),
                       other_file_kind(path, SL_PROFILE_MAGIC));
    defuse(&profile);
    (json ? print_json : print_text)(&profile);
    sl_profile_free(&profile);
    return EXIT_OK;
}
