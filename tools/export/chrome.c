#include "tools/export/chrome.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "tools/text/json.h"

enum {
    OWN_PROCESSES =
        1 << 23,           /* what is the device's and the link's has process ids that Linux does not give */
    OWN_THREADS = 1 << 30, /* neither these thread ids */
};

/* Kineto counts from the last multiple of this, so that doubles hold its times. */
#define BASE_NS (7889238 * (uint64_t)1000000000)

/* --- one event: begin_event, members, end_event */

static void begin_event(struct chrome *chrome, const char *phase, const struct chrome_row *row)
{
    FILE *to = chrome->tracks.to;
    fprintf(to, "%s\n{\"ph\": \"%s\", \"pid\": %" PRIu32 ", \"tid\": %" PRIu32, chrome->begun ? "," : "",
            phase, row->process, row->thread);
    chrome->begun = true;
}

static void end_event(struct chrome *chrome)
{
    fputc('}', chrome->tracks.to);
    chrome->tracks.packets++;
}

static void put_text(struct chrome *chrome, const char *key, const char *text)
{
    fprintf(chrome->tracks.to, ", \"%s\": ", key);
    json_quote(chrome->tracks.to, text);
}

static void put_microseconds(struct chrome *chrome, const char *key, uint64_t ns)
{
    fprintf(chrome->tracks.to, ", \"%s\": %" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

/* Since the base of the file, before which nothing can be shown. */
static uint64_t since_base(const struct chrome *chrome, uint64_t monotonic_ns)
{
    uint64_t ns = chrome->realtime_ns + (monotonic_ns - chrome->monotonic_ns);
    return ns > chrome->base_ns ? ns - chrome->base_ns : 0;
}

static void put_time(struct chrome *chrome, uint64_t monotonic_ns)
{
    put_microseconds(chrome, "ts", since_base(chrome, monotonic_ns));
}

static void put_notes(struct chrome *chrome, const struct track_event *event)
{
    FILE *to = chrome->tracks.to;
    if (!event->note_count) return;
    fputs(", \"args\": {", to);
    for (size_t i = 0; i < event->note_count; i++) {
        const struct track_note *note = &event->notes[i];
        fprintf(to, "%s\"%s\": ", i ? ", " : "", note->name);
        if (note->text)
            json_quote(to, note->text);
        else
            fprintf(to, note->address ? "\"0x%" PRIx64 "\"" : "%" PRIu64, note->number);
    }
    fputc('}', to);
}

/* A name or the place among others of a process or thread. */
static void put_metadata(struct chrome *chrome, const struct chrome_row *row, const char *what,
                         const char *name, uint64_t order)
{
    begin_event(chrome, "M", row);
    put_text(chrome, "name", what);
    fprintf(chrome->tracks.to, ", \"args\": {");
    if (name) {
        fputs("\"name\": ", chrome->tracks.to);
        json_quote(chrome->tracks.to, name);
    } else {
        fprintf(chrome->tracks.to, "\"sort_index\": %" PRIu64, order);
    }
    fputc('}', chrome->tracks.to);
    end_event(chrome);
}

/* --- tracks */

static struct chrome_row row_of(const struct chrome *chrome, uint64_t track)
{
    return track ? chrome->rows[track - 1] : (struct chrome_row){0}; /* 0: memory was short */
}

/* Takes `name`. Returns the track, or 0. */
static uint64_t add_row(struct chrome *chrome, uint32_t process, char *name)
{
    if (!sl_grow(&chrome->rows, &chrome->row_room, chrome->row_count, sizeof(*chrome->rows))) {
        chrome->tracks.no_memory = true;
        free(name);
        return 0;
    }
    uint32_t thread = name ? OWN_THREADS + chrome->row_count : 0;
    chrome->rows[chrome->row_count++] = (struct chrome_row){process, thread, name};
    return chrome->row_count;
}

static uint64_t add_process(struct tracks *tracks, uint32_t process, const char *name, unsigned order,
                            uint64_t rank)
{
    struct chrome *chrome = (struct chrome *)tracks;
    char *own = NULL;
    (void)rank;
    (void)order;
    struct chrome_row program = {.process = process};
    put_metadata(chrome, &program, "process_name", name, 0); /* which Kineto's own replaces */
    uint64_t track = add_row(chrome, OWN_PROCESSES + process, NULL);
    struct chrome_row row = row_of(chrome, track);
    if (asprintf(&own, "sluice: %s", name) < 0) {
        tracks->no_memory = true;
        return track;
    }
    put_metadata(chrome, &row, "process_name", own, 0);
    put_metadata(chrome, &row, "process_sort_index", NULL, process);
    free(own);
    return track;
}

static uint64_t add_named(struct chrome *chrome, uint32_t process, const char *name, uint64_t order)
{
    char *copy = strdup(name);
    uint64_t track = copy ? add_row(chrome, process, copy) : 0;
    if (!copy) chrome->tracks.no_memory = true;
    struct chrome_row row = row_of(chrome, track);
    put_metadata(chrome, &row, "thread_name", name, 0);
    put_metadata(chrome, &row, "thread_sort_index", NULL, order);
    return track;
}

/* A counter has no thread. A track within another has both names, as threads have no parents. */
static uint64_t add_track(struct tracks *tracks, uint64_t parent, const char *name, uint64_t rank, bool bytes)
{
    struct chrome *chrome = (struct chrome *)tracks;
    struct chrome_row within = row_of(chrome, parent);
    if (bytes) {
        char *copy = strdup(name);
        if (!copy) tracks->no_memory = true;
        return copy ? add_row(chrome, within.process, copy) : 0;
    }
    if (!within.name) return add_named(chrome, within.process, name, rank);
    char *both;
    if (asprintf(&both, "%s: %s", within.name, name) < 0) {
        tracks->no_memory = true;
        return 0;
    }
    uint64_t track = add_named(chrome, within.process, both, rank);
    free(both);
    return track;
}

/* Kineto's order of a thread is its number. */
static uint64_t add_beside(struct tracks *tracks, uint64_t process, uint64_t thread, const char *name,
                           uint64_t rank)
{
    struct chrome *chrome = (struct chrome *)tracks;
    return add_named(chrome, row_of(chrome, process).process - OWN_PROCESSES, name, thread ? thread : rank);
}

/* --- events */

static void put_event(struct tracks *tracks, const struct track_event *event, const char *phase, uint64_t ns)
{
    struct chrome *chrome = (struct chrome *)tracks;
    struct chrome_row row = row_of(chrome, event->track);
    begin_event(chrome, phase, &row);
    put_time(chrome, ns);
    put_text(chrome, "name", event->name);
    put_text(chrome, "cat", event->category ? event->category : "sluice");
    put_notes(chrome, event);
}

static void begin(struct tracks *tracks, const struct track_event *slice, uint64_t ns)
{
    put_event(tracks, slice, "B", ns);
    end_event((struct chrome *)tracks);
}

static void end(struct tracks *tracks, const struct track_event *slice, uint64_t ns)
{
    struct chrome *chrome = (struct chrome *)tracks;
    struct chrome_row row = row_of(chrome, slice->track);
    begin_event(chrome, "E", &row);
    put_time(chrome, ns);
    end_event(chrome);
}

static void whole(struct tracks *tracks, const struct track_event *slice, uint64_t begin_ns, uint64_t end_ns)
{
    struct chrome *chrome = (struct chrome *)tracks;
    put_event(tracks, slice, "X", begin_ns);
    put_microseconds(chrome, "dur", since_base(chrome, end_ns) - since_base(chrome, begin_ns));
    end_event(chrome);
}

static void moment(struct tracks *tracks, const struct track_event *moment, uint64_t ns)
{
    put_event(tracks, moment, "i", ns);
    fputs(", \"s\": \"t\"", tracks->to);
    end_event((struct chrome *)tracks);
}

static void count(struct tracks *tracks, uint64_t track, uint64_t ns, int64_t value)
{
    struct chrome *chrome = (struct chrome *)tracks;
    struct chrome_row row = row_of(chrome, track);
    begin_event(chrome, "C", &row);
    put_time(chrome, ns);
    put_text(chrome, "name", row.name ? row.name : "");
    fprintf(tracks->to, ", \"args\": {\"bytes\": %" PRId64 "}", value);
    end_event(chrome);
}

static const struct tracks_form form = {add_process, add_track, add_beside, begin, end, whole, moment, count};

/* --- the whole file */

void chrome_open(struct chrome *chrome, FILE *to, uint64_t monotonic_ns, uint64_t realtime_ns,
                 const struct chrome_file *with)
{
    *chrome = (struct chrome){.tracks = {.form = &form, .to = to},
                              .with = with,
                              .base_ns = with ? with->base_ns : realtime_ns / BASE_NS * BASE_NS,
                              .monotonic_ns = monotonic_ns,
                              .realtime_ns = realtime_ns};
    fputs(CHROME_MARKER ",", to);
    if (with)
        chrome->unread = !chrome_file_copy(with, with->object, with->list, to);
    else
        fprintf(to,
                " \"schemaVersion\": 1, \"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": %" PRIu64
                ", \"traceEvents\": [",
                chrome->base_ns);
}

bool chrome_close(struct chrome *chrome, bool *read)
{
    FILE *to = chrome->tracks.to;
    if (chrome->with) {
        if (chrome->begun && !chrome->with->empty) fputc(',', to);
        if (!chrome_file_copy(chrome->with, chrome->with->list, -1, to)) chrome->unread = true;
    } else {
        fputs("\n]}\n", to);
    }
    *read = !chrome->unread;
    for (uint32_t i = 0; i < chrome->row_count; i++) free(chrome->rows[i].name);
    free(chrome->rows);
    chrome->rows = NULL;
    return !chrome->tracks.no_memory;
}
