#include "tools/export/perfetto.h"

#include <stdlib.h>
#include <string.h>

/* Numbers of fields and enumerators by message, from Perfetto's protos. */
enum { TRACE_PACKET = 1 };
enum {
    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_DEFAULTS = 59,
    PACKET_TRACK_DESCRIPTOR = 60,
    PACKET_FIRST = 87,
};
enum { SEQUENCE_CLEARED = 1, SEQUENCE_NEEDS_STATE = 2 };
enum { DEFAULTS_CLOCK = 58 };
enum { SNAPSHOT_CLOCKS = 1, SNAPSHOT_PRIMARY = 2 };
enum { CLOCK_ID = 1, CLOCK_TIMESTAMP = 2, CLOCK_IS_REALTIME = 1, CLOCK_IS_MONOTONIC = 3 };
enum {
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    TRACK_CHILD_ORDERING = 11,
    TRACK_RANK = 12,
    ORDERING_EXPLICIT = 3,
};
enum { PROCESS_PID = 1, PROCESS_ORDER = 3, PROCESS_NAME = 6 };
enum { COUNTER_UNIT = 3, UNIT_SIZE_BYTES = 3 };
enum {
    EVENT_CATEGORY_IIDS = 3,
    EVENT_NOTES = 4,
    EVENT_TYPE = 9,
    EVENT_NAME_IID = 10,
    EVENT_TRACK = 11,
    EVENT_COUNTER_VALUE = 30,
    EVENT_FLOWS = 47,
    TYPE_SLICE_BEGIN = 1,
    TYPE_SLICE_END = 2,
    TYPE_INSTANT = 3,
    TYPE_COUNTER = 4,
};
enum { NOTE_NAME_IID = 1, NOTE_UINT = 3, NOTE_POINTER = 7, NOTE_TEXT_IID = 17 };

/* Fields of InternedData; each entry has an iid (1) and a text (2). */
enum interned { CATEGORIES = 1, NAMES = 2, NOTE_NAMES = 3, NOTE_TEXTS = 29 };
enum { ENTRY_IID = 1, ENTRY_TEXT = 2 };

enum { THE_SEQUENCE = 1 }; /* all packets have the same writer */

static uint64_t hash_text(enum interned kind, const char *text)
{
    uint64_t hash = kind;
    for (; *text; text++) hash = sl_hash_word(hash, (unsigned char)*text);
    return hash ? hash : 1;
}

static bool keep_text(struct perfetto *perfetto, enum interned kind, const char *text)
{
    if (perfetto->text_count == perfetto->text_room) {
        size_t room = 2 * perfetto->text_room + 64;
        struct perfetto_text *grown = realloc(perfetto->texts, room * sizeof(*grown));
        if (!grown) return false;
        perfetto->texts = grown;
        perfetto->text_room = room;
    }
    char *copy = strdup(text);
    if (!copy) return false;
    perfetto->texts[perfetto->text_count++] = (struct perfetto_text){copy, (uint8_t)kind};
    return true;
}

/* The iid of a text. A new text is written with the packet under construction. */
static uint64_t intern(struct perfetto *perfetto, enum interned kind, const char *text)
{
    uint64_t hash = hash_text(kind, text);
    uint32_t known = sl_map_get(&perfetto->text_of, hash);
    if (known != SL_NONE && perfetto->texts[known].kind == kind && !strcmp(perfetto->texts[known].text, text))
        return known + 1;
    if ((known == SL_NONE && !sl_map_put(&perfetto->text_of, hash, (uint32_t)perfetto->text_count)) ||
        !keep_text(perfetto, kind, text))
        perfetto->tracks.no_memory = true;
    return perfetto->text_count;
}

static size_t begin_packet(struct perfetto *perfetto)
{
    perfetto->packet.bytes = 0;
    size_t packet = protobuf_begin(&perfetto->packet, TRACE_PACKET);
    protobuf_number(&perfetto->packet, PACKET_SEQUENCE, THE_SEQUENCE);
    protobuf_number(&perfetto->packet, PACKET_SEQUENCE_FLAGS,
                    perfetto->tracks.packets ? SEQUENCE_NEEDS_STATE
                                             : SEQUENCE_CLEARED | SEQUENCE_NEEDS_STATE);
    return packet;
}

static void put_interned(struct perfetto *perfetto)
{
    if (perfetto->texts_written == perfetto->text_count) return;
    size_t interned = protobuf_begin(&perfetto->packet, PACKET_INTERNED);
    for (; perfetto->texts_written < perfetto->text_count; perfetto->texts_written++) {
        const struct perfetto_text *text = &perfetto->texts[perfetto->texts_written];
        size_t entry = protobuf_begin(&perfetto->packet, text->kind);
        protobuf_number(&perfetto->packet, ENTRY_IID, perfetto->texts_written + 1);
        protobuf_text(&perfetto->packet, ENTRY_TEXT, text->text);
        protobuf_end(&perfetto->packet, entry);
    }
    protobuf_end(&perfetto->packet, interned);
}

static void end_packet(struct perfetto *perfetto, size_t packet)
{
    put_interned(perfetto);
    protobuf_end(&perfetto->packet, packet);
    if (perfetto->packet.no_memory) perfetto->tracks.no_memory = true;
    if (perfetto->tracks.no_memory) return;
    fwrite(perfetto->packet.at, 1, perfetto->packet.bytes, perfetto->tracks.to);
    perfetto->tracks.packets++;
}

/* Begins the descriptor of a new track in *packet; the caller ends both. */
static uint64_t begin_track(struct perfetto *perfetto, uint64_t parent, const char *name, uint64_t rank,
                            size_t *packet, size_t *descriptor)
{
    struct protobuf *message = &perfetto->packet;
    uint64_t uuid = sl_mix(perfetto->salt + ++perfetto->track_count);
    if (!uuid) uuid = perfetto->salt;
    *packet = begin_packet(perfetto);
    *descriptor = protobuf_begin(message, PACKET_TRACK_DESCRIPTOR);
    protobuf_number(message, TRACK_UUID, uuid);
    protobuf_text(message, TRACK_NAME, name);
    if (parent) protobuf_number(message, TRACK_PARENT, parent);
    protobuf_number(message, TRACK_CHILD_ORDERING, ORDERING_EXPLICIT);
    protobuf_number(message, TRACK_RANK, rank);
    return uuid;
}

static void end_track(struct perfetto *perfetto, size_t packet, size_t descriptor)
{
    protobuf_end(&perfetto->packet, descriptor);
    end_packet(perfetto, packet);
}

static uint64_t add_process(struct tracks *tracks, uint32_t process, const char *name, unsigned order,
                            uint64_t rank)
{
    struct perfetto *perfetto = (struct perfetto *)tracks;
    size_t packet, descriptor;
    uint64_t uuid = begin_track(perfetto, 0, name, rank, &packet, &descriptor);
    size_t inner = protobuf_begin(&perfetto->packet, TRACK_PROCESS);
    protobuf_signed(&perfetto->packet, PROCESS_PID, (int32_t)process);
    if (order) protobuf_number(&perfetto->packet, PROCESS_ORDER, order);
    protobuf_text(&perfetto->packet, PROCESS_NAME, name);
    protobuf_end(&perfetto->packet, inner);
    end_track(perfetto, packet, descriptor);
    return uuid;
}

static uint64_t add_track(struct tracks *tracks, uint64_t parent, const char *name, uint64_t rank, bool bytes)
{
    struct perfetto *perfetto = (struct perfetto *)tracks;
    size_t packet, descriptor;
    uint64_t uuid = begin_track(perfetto, parent, name, rank, &packet, &descriptor);
    if (bytes) {
        size_t counter = protobuf_begin(&perfetto->packet, TRACK_COUNTER);
        protobuf_number(&perfetto->packet, COUNTER_UNIT, UNIT_SIZE_BYTES);
        protobuf_end(&perfetto->packet, counter);
    }
    end_track(perfetto, packet, descriptor);
    return uuid;
}

static uint64_t add_beside(struct tracks *tracks, uint64_t process, uint64_t thread, const char *name,
                           uint64_t rank)
{
    (void)thread;
    return add_track(tracks, process, name, rank, false);
}

static void put_note(struct perfetto *perfetto, const struct track_note *note)
{
    struct protobuf *message = &perfetto->packet;
    size_t inner = protobuf_begin(message, EVENT_NOTES);
    protobuf_number(message, NOTE_NAME_IID, intern(perfetto, NOTE_NAMES, note->name));
    if (note->text)
        protobuf_number(message, NOTE_TEXT_IID, intern(perfetto, NOTE_TEXTS, note->text));
    else
        protobuf_number(message, note->address ? NOTE_POINTER : NOTE_UINT, note->number);
    protobuf_end(message, inner);
}

static void put_event(struct perfetto *perfetto, const struct track_event *event, unsigned type,
                      uint64_t time_ns)
{
    struct protobuf *message = &perfetto->packet;
    size_t packet = begin_packet(perfetto);
    protobuf_number(message, PACKET_TIMESTAMP, time_ns);
    size_t inner = protobuf_begin(message, PACKET_TRACK_EVENT);
    protobuf_number(message, EVENT_TYPE, type);
    protobuf_number(message, EVENT_TRACK, event->track);
    if (type != TYPE_SLICE_END) {
        protobuf_number(message, EVENT_NAME_IID, intern(perfetto, NAMES, event->name));
        if (event->category)
            protobuf_number(message, EVENT_CATEGORY_IIDS, intern(perfetto, CATEGORIES, event->category));
        for (size_t i = 0; i < event->note_count; i++) put_note(perfetto, &event->notes[i]);
        if (event->flow) protobuf_fixed(message, EVENT_FLOWS, event->flow);
    }
    protobuf_end(message, inner);
    end_packet(perfetto, packet);
}

static void begin(struct tracks *tracks, const struct track_event *slice, uint64_t ns)
{
    put_event((struct perfetto *)tracks, slice, TYPE_SLICE_BEGIN, ns);
}

static void end(struct tracks *tracks, const struct track_event *slice, uint64_t ns)
{
    put_event((struct perfetto *)tracks, slice, TYPE_SLICE_END, ns);
}

static void whole(struct tracks *tracks, const struct track_event *slice, uint64_t begin_ns, uint64_t end_ns)
{
    begin(tracks, slice, begin_ns);
    end(tracks, slice, end_ns);
}

static void moment(struct tracks *tracks, const struct track_event *moment, uint64_t ns)
{
    put_event((struct perfetto *)tracks, moment, TYPE_INSTANT, ns);
}

static void count(struct tracks *tracks, uint64_t track, uint64_t ns, int64_t value)
{
    struct perfetto *perfetto = (struct perfetto *)tracks;
    struct protobuf *message = &perfetto->packet;
    size_t packet = begin_packet(perfetto);
    protobuf_number(message, PACKET_TIMESTAMP, ns);
    size_t inner = protobuf_begin(message, PACKET_TRACK_EVENT);
    protobuf_number(message, EVENT_TYPE, TYPE_COUNTER);
    protobuf_number(message, EVENT_TRACK, track);
    protobuf_signed(message, EVENT_COUNTER_VALUE, value);
    protobuf_end(message, inner);
    end_packet(perfetto, packet);
}

static const struct tracks_form form = {add_process, add_track, add_beside, begin, end, whole, moment, count};

static void put_clock(struct protobuf *packet, unsigned id, uint64_t ns)
{
    size_t clock = protobuf_begin(packet, SNAPSHOT_CLOCKS);
    protobuf_number(packet, CLOCK_ID, id);
    protobuf_number(packet, CLOCK_TIMESTAMP, ns);
    protobuf_end(packet, clock);
}

void perfetto_open(struct perfetto *perfetto, FILE *to, uint64_t monotonic_ns, uint64_t realtime_ns)
{
    *perfetto = (struct perfetto){.tracks = {.form = &form, .to = to}, .salt = sl_mix(realtime_ns)};
    size_t packet = begin_packet(perfetto);
    struct protobuf *message = &perfetto->packet;
    protobuf_number(message, PACKET_FIRST, 1);
    size_t defaults = protobuf_begin(message, PACKET_DEFAULTS);
    protobuf_number(message, DEFAULTS_CLOCK, CLOCK_IS_MONOTONIC);
    protobuf_end(message, defaults);
    size_t snapshot = protobuf_begin(message, PACKET_CLOCK_SNAPSHOT);
    put_clock(message, CLOCK_IS_MONOTONIC, monotonic_ns);
    put_clock(message, CLOCK_IS_REALTIME, realtime_ns);
    protobuf_number(message, SNAPSHOT_PRIMARY, CLOCK_IS_MONOTONIC);
    protobuf_end(message, snapshot);
    intern(perfetto, CATEGORIES, PERFETTO_MARKER);
    end_packet(perfetto, packet);
}

bool perfetto_close(struct perfetto *perfetto)
{
    bool good = !perfetto->tracks.no_memory;
    for (size_t i = 0; i < perfetto->text_count; i++) free(perfetto->texts[i].text);
    free(perfetto->texts);
    sl_map_free(&perfetto->text_of);
    protobuf_free(&perfetto->packet);
    perfetto->texts = NULL;
    perfetto->text_count = 0;
    return good;
}
