/* Writes a trace of invented records, which come as lines on standard input:
 *
 *     TYPE KEY=VALUE... [|TEXT]
 *
 * TYPE is the name of a record's type, a KEY one of flags, id, tick, time, a, b, c, d. The type "header" is
 * no record: id is the process, a the start since 1970 and b the same moment on the records' clock. Usage:
 * write-trace OUT RECORDS_A_BLOCK [cut]. Blocks are of thread 1 and 2 in turn; "cut" leaves the end out. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/trace_format.h"
#include "trace_file.h"

enum { HEADER_LINE = SLUICE_TRACE_END };

static unsigned type_number(const char *name)
{
    if (!strcmp(name, "header")) return HEADER_LINE;
    for (unsigned type = 1; type < SLUICE_TRACE_END; type++)
        if (sl_trace_type(type) && !strcmp(sl_trace_type(type)->name, name)) return type;
    fprintf(stderr, "write-trace: no type %s\n", name);
    exit(2);
}

static void set_field(struct sl_event *event, const char *key, uint64_t value)
{
    const struct {
        const char *key;
        uint64_t *field;
    } wide[] = {{"tick", &event->tick}, {"time", &event->time_ns}, {"a", &event->a},
                {"b", &event->b},       {"c", &event->c},          {"d", &event->d}};
    for (size_t i = 0; i < sizeof(wide) / sizeof(*wide); i++) {
        if (strcmp(wide[i].key, key) != 0) continue;
        *wide[i].field = value;
        return;
    }
    if (!strcmp(key, "flags")) {
        event->flags = (uint8_t)value;
    } else if (!strcmp(key, "id")) {
        event->id = (uint32_t)value;
    } else {
        fprintf(stderr, "write-trace: no field %s\n", key);
        exit(2);
    }
}

static struct sl_event parse(char *line)
{
    struct sl_event event = {0};
    char *text = strchr(line, '|'), *rest;
    if (text) *text++ = 0;
    event.type = (uint8_t)type_number(strtok_r(line, " \n", &rest));
    for (char *word; (word = strtok_r(NULL, " \n", &rest));) {
        char *equals = strchr(word, '=');
        if (!equals) exit(2);
        *equals = 0;
        set_field(&event, word, strtoull(equals + 1, NULL, 0));
    }
    if (text) {
        text[strcspn(text, "\n")] = 0;
        event.text = strdup(text);
    }
    return event;
}

static void change_header(struct trace_bytes *trace, const struct sl_event *line)
{
    struct sluice_trace_header header;
    memcpy(&header, trace->bytes, sizeof(header));
    header.process = line->id;
    header.realtime_ns = line->a;
    header.monotonic_ns = line->b;
    memcpy(trace->bytes, &header, sizeof(header));
    trace_seal_header(trace);
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    struct sl_event header = {0};
    struct sl_event *events = NULL;
    size_t count = 0, room = 0, line_room = 0;
    char *line = NULL;
    while (getline(&line, &line_room, stdin) > 0) {
        if (count == room) {
            room = 2 * room + 64;
            events = realloc(events, room * sizeof(*events));
            if (!events) return 1;
        }
        events[count] = parse(line);
        if (events[count].type == HEADER_LINE)
            header = events[count];
        else
            count++;
    }
    struct trace_bytes trace = trace_build(events, count, strtoul(argv[2], NULL, 10), argc == 3);
    if (header.type) change_header(&trace, &header);
    FILE *file = fopen(argv[1], "wb");
    bool good = file && fwrite(trace.bytes, 1, trace.size, file) == trace.size;
    good = file && fclose(file) == 0 && good;
    for (size_t i = 0; i < count; i++) free((char *)events[i].text);
    free(events);
    free(line);
    free(trace.bytes);
    return good ? 0 : 1;
}
