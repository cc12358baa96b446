#include "tools/model/trace_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/text/json.h"
#include "trace/events.h"

enum { KERNELS_MAX = 1 << 20 }; /* limits the memory that a damaged number can request */

static const char *name_of(const char *const *names, size_t count, unsigned index)
{
    return index < count ? names[index] : "unknown";
}

const char *launch_kind_name(unsigned kind)
{
    static const char *const names[LAUNCH_KINDS] = {"kernel", "copy", "memset", "graph", "collective"};
    return name_of(names, LAUNCH_KINDS, kind);
}

const char *move_kind_name(unsigned kind)
{
    static const char *const names[MOVE_KINDS] = {"evict", "discard", "fetch", "populate"};
    return name_of(names, MOVE_KINDS, kind);
}

const char *move_cause_name(unsigned cause)
{
    static const char *const names[MOVE_CAUSES] = {"plan", "demand", "late"};
    return name_of(names, MOVE_CAUSES, cause);
}

bool kernel_names_add(struct kernel_names *names, const struct sl_event *event)
{
    if (event->id >= KERNELS_MAX) return true;
    if (event->id >= names->count) {
        size_t count = event->id + 64;
        char **grown = realloc(names->names, count * sizeof(*grown));
        if (!grown) return false;
        memset(grown + names->count, 0, (count - names->count) * sizeof(*grown));
        names->names = grown;
        names->count = count;
    }
    char *copy = strdup(event->text);
    if (!copy) return false;
    sl_defuse(copy);
    free(names->names[event->id]);
    names->names[event->id] = copy;
    return true;
}

const char *kernel_name(const struct kernel_names *names, uint32_t kernel)
{
    return kernel < names->count ? names->names[kernel] : NULL;
}

void kernel_names_free(struct kernel_names *names)
{
    for (size_t i = 0; i < names->count; i++) free(names->names[i]);
    free(names->names);
    *names = (struct kernel_names){0};
}

static const char *copy_direction_name(unsigned direction)
{
    static const char *const names[] = {"unknown", "in", "out", "on_device"};
    return name_of(names, 4, direction);
}

unsigned record_words(const struct sl_event *event, const char *keys[2], const char *words[2])
{
    keys[0] = "kind";
    keys[1] = "cause";
    static const char *const syncs[] = {"context", "stream", "event", "copy"};
    static const char *const errors[] = {"allocation", "launch", "other"};
    static const char *const marks[] = {"push", "pop", "moment", "begin", "end"};
    switch (event->type) {
    case SL_EVENT_LAUNCH:
        words[0] = launch_kind_name(event->flags & 15);
        keys[1] = "direction";
        words[1] = copy_direction_name(event->flags >> 4);
        return event->flags >> 4 ? 2 : 1;
    case SL_EVENT_MOVE:
    case SL_EVENT_TRANSFER:
        words[0] = move_kind_name(event->flags & 15);
        words[1] = move_cause_name(event->flags >> 4);
        return 2;
    case SL_EVENT_SYNC:
        words[0] = name_of(syncs, 4, event->flags);
        return 1;
    case SL_EVENT_ERROR:
        words[0] = name_of(errors, 3, event->flags);
        return 1;
    case SL_EVENT_MARK:
        words[0] = name_of(marks, 5, event->flags);
        return 1;
    case SL_EVENT_DURATION:
        words[0] = "idle";
        return event->flags & 1;
    case SL_EVENT_ACCESS:
        words[0] = "only read";
        return event->flags & 1;
    case SL_EVENT_DECISION:
        keys[1] = "reason";
        words[0] = sl_decision_text(event->flags);
        words[1] = sl_decision_reason_text(event->flags, event->id);
        return words[1] ? 2 : 1;
    case SL_EVENT_ORDER:
        words[0] = event->flags ? "wait" : "record";
        return 1;
    case SL_EVENT_MESSAGE:
        words[0] = event->flags ? "receive" : "send";
        return 1;
    case SL_EVENT_ALLOC:
        words[0] = "again";
        return event->flags & SL_ALLOC_AGAIN;
    default:
        return 0;
    }
}

/* The keys of a decision's fields. */
static const char *const *decision_keys(const struct sl_event *event)
{
    static const char *const none[RECORD_FIELDS];
    static const char *const keys[][RECORD_FIELDS] = {
        [SL_DECISION_BEGIN] = {NULL, "launch"},
        [SL_DECISION_SWITCH] = {NULL, "first", "launches", "evictions", "fetches"},
        [SL_DECISION_DISCARD] = {NULL, "first", "left", "carried_out"},
        [SL_DECISION_MISPREDICT] = {NULL, "expected", "came", "access"},
        [SL_DECISION_VICTIMS] = {"chunk", "resident", "candidates", "last_use"},
    };
    return event->flags < sizeof(keys) / sizeof(*keys) ? keys[event->flags] : none;
}

bool is_known_collective(const struct sl_event *event)
{
    return (event->flags & 15) == SL_LAUNCH_COLLECTIVE && (event->id || event->b);
}

void record_fields(const struct sl_event *event, struct record_field out[RECORD_FIELDS])
{
    const struct sl_trace_type_info *info = sl_trace_type(event->type);
    out[0] = (struct record_field){info->id, event->id, false};
    out[1] = (struct record_field){info->a, event->a, info->address_a};
    out[2] = (struct record_field){info->b, event->b, false};
    out[3] = (struct record_field){info->c, event->c, info->address_c};
    out[4] = (struct record_field){event->d ? info->d : NULL, event->d, false};
    if (event->type == SL_EVENT_ALLOC) /* streams */
        out[4] = (struct record_field){event->flags & SL_IN_STREAM_ORDER ? info->d : NULL, event->d, true};
    if (event->type == SL_EVENT_FREE && !(event->flags & SL_IN_STREAM_ORDER)) out[3].key = NULL;
    /* Only kernels have a number and threads; only other launches have bytes. */
    bool launch = event->type == SL_EVENT_LAUNCH, kernel = (event->flags & 15) == SL_LAUNCH_KERNEL;
    if (launch) out[kernel ? 3 : 0].key = NULL;
    if (launch && !kernel) out[2].key = NULL;
    if (launch && is_known_collective(event)) out[2] = (struct record_field){"communicator", event->b, true};
    if (event->type == SL_EVENT_METADATA && event->flags != SL_METADATA_NUMBER) out[1].key = NULL;
    /* Fields that later versions added to their types */
    for (unsigned i = 2; event->type == SL_EVENT_ITERATION && i < 4; i++)
        if (!out[i].value) out[i].key = NULL;
    if (event->type == SL_EVENT_STALL && !out[3].value) out[3].key = NULL;
    for (unsigned i = 0; event->type == SL_EVENT_DECISION && i < RECORD_FIELDS; i++)
        out[i].key = decision_keys(event)[i];
}

const char *collective_name(uint32_t function)
{
    static const char *const names[] = {"group",  "AllReduce",     "Broadcast", "Bcast",
                                        "Reduce", "ReduceScatter", "AllGather", "AlltoAll",
                                        "Gather", "Scatter",       "Send",      "Recv"};
    return function < sizeof(names) / sizeof(*names) ? names[function] : "unknown";
}

const char *record_name(const struct sl_event *event, const struct kernel_names *names,
                        char room[RECORD_NAME])
{
    bool kernel = event->type == SL_EVENT_KERNEL || event->type == SL_EVENT_DURATION ||
                  (event->type == SL_EVENT_LAUNCH && (event->flags & 15) == SL_LAUNCH_KERNEL);
    if (kernel) return kernel_name(names, event->id);
    if (event->type == SL_EVENT_LAUNCH && is_known_collective(event)) return collective_name(event->id);
    if (!event->text) return NULL;
    snprintf(room, RECORD_NAME, "%s", event->text);
    sl_defuse(room);
    return room;
}

static int64_t since(const struct sl_event *event, uint64_t start_ns)
{
    return (int64_t)(event->time_ns - start_ns);
}

void print_record(const struct sl_trace_record *record, const struct kernel_names *names, uint64_t start_ns)
{
    const struct sl_event *event = &record->event;
    const char *keys[2], *words[2];
    struct record_field fields[RECORD_FIELDS];
    printf("%8" PRIu64 " %14.6f %3" PRIu32 "  %-9s", event->tick, (double)since(event, start_ns) / 1e9,
           record->thread, sl_trace_type(event->type)->name);
    unsigned word_count = record_words(event, keys, words);
    for (unsigned i = 0; i < word_count; i++) printf(" %s", words[i]);
    record_fields(event, fields);
    for (unsigned i = 0; i < RECORD_FIELDS; i++)
        if (fields[i].key)
            printf(fields[i].address ? " %s=0x%" PRIx64 : " %s=%" PRIu64, fields[i].key, fields[i].value);
    char room[RECORD_NAME];
    const char *name = record_name(event, names, room);
    if (name) printf(" %s", name);
    putchar('\n');
}

void print_record_json(const struct sl_trace_record *record, const struct kernel_names *names,
                       uint64_t start_ns)
{
    const struct sl_event *event = &record->event;
    const char *keys[2], *words[2];
    struct record_field fields[RECORD_FIELDS];
    printf("{\"type\": \"%s\", \"tick\": %" PRIu64 ", \"time_ns\": %" PRId64 ", \"thread\": %" PRIu32,
           sl_trace_type(event->type)->name, event->tick, since(event, start_ns), record->thread);
    unsigned word_count = record_words(event, keys, words);
    for (unsigned i = 0; i < word_count; i++) printf(", \"%s\": \"%s\"", keys[i], words[i]);
    record_fields(event, fields);
    for (unsigned i = 0; i < RECORD_FIELDS; i++)
        if (fields[i].key)
            printf(fields[i].address ? ", \"%s\": \"0x%" PRIx64 "\"" : ", \"%s\": %" PRIu64, fields[i].key,
                   fields[i].value);
    char room[RECORD_NAME];
    const char *name = record_name(event, names, room);
    if (name) {
        fputs(", \"name\": ", stdout);
        json_quote(stdout, name);
    }
    puts("}");
}
