#include "core/record.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/options.h"
#include "core/core.h"
#include "move/migrator.h"
#include "move/transfer.h"
#include "recording/recording.h"
#include "trace/python_frames.h"
#include "trace/trace_write.h"

#define SLOTS_WRITTEN_AT_ONCE 16

#define LONGEST_COMMAND 1000
#define MOST_ARGUMENTS 8192 /* bytes that are read: a secret that is cut could not be recognized */
/* Iterations after which PyTorch is asked for names: by the first of them an optimizer has its state; later
 * there may be other tensors. */
enum { NAMES_EARLY = 8, NAMES_LATE = 64 };
#define BETWEEN_CHANGES_NS 1000000000u /* between two records of changing numbers */

bool sl_record(struct sl_recorder *recorder, struct sl_event event)
{
    if (!recorder->trace) return false;
    event.tick = recorder->core->history.ticks.now;
    event.time_ns = sl_clock_ns(CLOCK_MONOTONIC);
    return sl_trace_push(recorder->trace, &event);
}

void sl_record_slabs(struct sl_recorder *recorder)
{
    uint32_t count = atomic_load(&recorder->core->arena.slab_count);
    for (; recorder->trace && recorder->slabs_written < count; recorder->slabs_written++) {
        struct sl_event event = {.type = SL_EVENT_SLAB,
                                 .flags = recorder->core->arena.slabs[recorder->slabs_written].pinned,
                                 .id = recorder->slabs_written * recorder->core->arena.chunks_per_slab,
                                 .a = recorder->core->arena.slabs[recorder->slabs_written].address,
                                 .b = SL_GIB};
        if (!sl_record(recorder, event)) return; /* the next allocation tries again */
    }
}

static struct sl_event launch_event(const struct sl_recorder *recorder, const struct sl_launch *launch,
                                    uint32_t kernel)
{
    struct sl_event event = {.type = SL_EVENT_LAUNCH,
                             .flags = (uint8_t)(launch->kind | launch->direction << 4),
                             .id = kernel,
                             .tick = recorder->core->history.ticks.now,
                             .time_ns = sl_clock_ns(CLOCK_MONOTONIC),
                             .a = (uint64_t)launch->stream,
                             .c = launch->span_count ? launch->spans[0].bytes : 0};
    if (launch->copied_bytes) event.c = launch->copied_bytes;
    if (launch->kind == SL_LAUNCH_KERNEL) {
        event.b = 1;
        for (int d = 0; d < 3; d++) event.b *= (uint64_t)launch->grid[d] * launch->block[d];
    }
    if (launch->kind == SL_LAUNCH_COLLECTIVE) {
        event.id = launch->collective;
        event.b = launch->communicator;
    }
    return event;
}

/* Writes a record for each allocation of an access, which may extend into the mappings that follow. */
static bool push_access(const struct sl_recorder *recorder, const struct sl_access *access, uint64_t time_ns)
{
    const struct sl_placement *placement = &recorder->core->placement;
    const struct sl_slot *slot = &placement->slots[access->slot];
    uint64_t begin = access->offset, end = sl_access_end(placement, access);
    bool whole = true;
    while (slot) {
        const struct sl_slot *next = end > slot->bytes ? sl_place_next(placement, slot) : NULL;
        struct sl_event event = {.type = SL_EVENT_ACCESS,
                                 .flags = access->only_read,
                                 .id = (uint32_t)(slot - placement->slots),
                                 .tick = recorder->core->history.ticks.now,
                                 .time_ns = time_ns,
                                 .a = begin,
                                 .b = (next ? slot->bytes : end) - begin};
        whole &= sl_trace_push(recorder->trace, &event);
        end -= next ? slot->bytes : 0;
        begin = 0;
        slot = next;
    }
    return whole;
}

static void announce_kernel(struct sl_recorder *recorder, uint32_t kernel)
{
    struct sl_kernel *known = &recorder->core->scanner.kernels.kernels[kernel];
    if (!kernel || known->announced == recorder->lap + 1) return;
    known->announced = recorder->lap + 1;
    sl_record(recorder, (struct sl_event){.type = SL_EVENT_KERNEL, .id = kernel, .text = known->name});
}

void sl_record_allocation(struct sl_recorder *recorder, enum sl_event_type type, uint32_t slot)
{
    const struct sl_slot *s = &recorder->core->placement.slots[slot];
    uint64_t stream = recorder->stream ? (uint64_t)*recorder->stream : 0;
    bool alloc = type == SL_EVENT_ALLOC;
    sl_record(recorder, (struct sl_event){.type = (uint8_t)type,
                                          .flags = recorder->stream ? SL_IN_STREAM_ORDER : 0,
                                          .id = slot,
                                          .a = s->address,
                                          .b = s->bytes,
                                          .c = alloc ? s->site : stream,
                                          .d = alloc ? stream : 0});
}

/* After a trace file with a limit began a new lap, live allocations must be recorded again. Each launch
 * records a few, so that none is delayed much. */
static void write_again(struct sl_recorder *recorder)
{
    uint32_t lap = sl_trace_lap(recorder->trace), end = recorder->core->placement.slot_count;
    if (lap != recorder->lap) {
        recorder->lap = lap;
        recorder->slabs_written = 0;
        sl_record_slabs(recorder);
        recorder->slots_written = 0;
    }
    if (!lap || recorder->slots_written >= end) return;
    if (end > recorder->slots_written + SLOTS_WRITTEN_AT_ONCE)
        end = recorder->slots_written + SLOTS_WRITTEN_AT_ONCE;
    for (; recorder->slots_written < end; recorder->slots_written++) {
        const struct sl_slot *slot = &recorder->core->placement.slots[recorder->slots_written];
        struct sl_event again = {.type = SL_EVENT_ALLOC,
                                 .flags = SL_ALLOC_AGAIN,
                                 .id = recorder->slots_written,
                                 .a = slot->address,
                                 .b = slot->bytes,
                                 .c = slot->site};
        if (slot->live) sl_record(recorder, again);
    }
}

static void push_messages(const struct sl_recorder *recorder, const struct sl_launch *launch,
                          const struct sl_event *of)
{
    for (uint32_t m = 0; m < launch->message_count; m++) {
        const struct sl_message *message = &launch->messages[m];
        sl_trace_push(recorder->trace, &(struct sl_event){.type = SL_EVENT_MESSAGE,
                                                          .flags = (uint8_t)message->kind,
                                                          .id = message->peer,
                                                          .tick = of->tick,
                                                          .time_ns = of->time_ns,
                                                          .a = launch->communicator,
                                                          .b = message->bytes,
                                                          .c = message->own});
    }
}

/* Writes the accesses of a symbol only once, so a launch that repeats is one record. They are written again
 * if a record was lost. */
void sl_record_launch(struct sl_recorder *recorder, const struct sl_launch *launch,
                      const struct sl_usage *usage)
{
    if (!recorder->trace) return;
    write_again(recorder);
    announce_kernel(recorder, usage->kernel);
    uint64_t version = recorder->core->scanner.extents.version << 24 ^ recorder->lap;
    struct sl_symbol_record *known = &recorder->core->scanner.symbols->records[usage->symbol];
    struct sl_event event = launch_event(recorder, launch, usage->kernel);
    if (usage->symbol && known->recorded && known->recorded_version == version) {
        event.d = usage->access_count ? known->recorded : 0;
        sl_trace_push(recorder->trace, &event);
        push_messages(recorder, launch, &event);
        return;
    }
    bool whole = sl_trace_push(recorder->trace, &event);
    for (uint32_t a = 0; a < usage->access_count; a++)
        whole &= push_access(recorder, &usage->accesses[a], event.time_ns);
    push_messages(recorder, launch, &event);
    if (!whole) return;
    known->recorded = recorder->core->history.ticks.now;
    known->recorded_version = version;
}

/* --- the whole run */

/* Records "name=value". A later value of the same name replaces the earlier one. */
__attribute__((format(printf, 2, 3))) static void metadata(struct sl_recorder *recorder, const char *format,
                                                           ...)
{
    static char text[SL_INTERN_LONGEST + 1]; /* guarded by the order lock, or single-threaded */
    va_list arguments;
    if (!recorder->trace) return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sl_record(recorder, (struct sl_event){.type = SL_EVENT_METADATA, .text = sl_intern(text)});
}

char *sl_record_command(void)
{
    int mask = sl_options_in_force()->mask;
    const struct sl_recording *recording = sl_recording(NULL);
    char *arguments = !recording || mask == SL_MASK_ALL ? NULL : malloc(MOST_ARGUMENTS + 1), *command = NULL;
    int file = arguments ? open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC) : -1;
    ssize_t bytes = file < 0 ? -1 : read(file, arguments, MOST_ARGUMENTS);
    if (file >= 0) close(file);
    if (bytes > 0) command = malloc(LONGEST_COMMAND + 1);
    if (command) {
        arguments[bytes] = 0;
        recording->mask_command(arguments, (size_t)bytes, mask == SL_MASK_SECRETS, command,
                                LONGEST_COMMAND + 1);
    }
    free(arguments);
    return command;
}

void sl_record_start(struct sl_recorder *recorder, const struct sl_stats *stats,
                     const struct sl_backend *backend)
{
    struct sl_device_properties device = {0};
    if (!recorder->trace) return;
    backend->describe(backend->self, &device);
    metadata(recorder, "sluice=%s", SLUICE_VERSION);
    metadata(recorder, "policy=%s", stats->policy);
    metadata(recorder, "daemon=%s", stats->daemon);
    if (sl_options_rank()) metadata(recorder, "rank=%s", sl_options_rank());
    if (device.memory_bytes_per_s)
        metadata(recorder, "device_bytes_per_s=%" PRIu64, device.memory_bytes_per_s);
    if (device.name[0]) metadata(recorder, "device=%s", device.name);
    if (device.driver_version)
        metadata(recorder, "driver=%d.%d", device.driver_version / 1000, device.driver_version % 1000 / 10);
    char *command = sl_record_command();
    if (command) metadata(recorder, "command=%s", command);
    free(command);
}

/* Numbers of the run. The first ones are also written while it goes on. */
static const struct sl_figure numbers[] = {
    {"plans", offsetof(struct sl_stats, plans)},
    {"mispredictions", offsetof(struct sl_stats, total.mispredictions)},
    {"symbols", offsetof(struct sl_stats, fed)},
    {"predicted", offsetof(struct sl_stats, predicted)},
    {"iterations", offsetof(struct sl_stats, steps)},
};
enum { CHANGING = 2, NUMBERS = sizeof(numbers) / sizeof(*numbers) };

/* Only the names are interned, because interned texts are never freed. */
static void write_numbers(struct sl_recorder *recorder, const struct sl_stats *stats, int count)
{
    for (int i = 0; i < count; i++)
        sl_record(recorder, (struct sl_event){.type = SL_EVENT_METADATA,
                                              .flags = SL_METADATA_NUMBER,
                                              .a = sl_figure_value(stats, &numbers[i]),
                                              .text = sl_intern(numbers[i].name)});
}

static bool has_grown(uint64_t from, uint64_t to)
{
    return to > from + from / 64;
}

/* Records the link's speeds when they are first known, and again when they have grown. */
static void write_link(struct sl_recorder *recorder, const struct sl_migrator *migrator)
{
    uint64_t in = sl_transfers_speed(migrator->in.transfers),
             out = sl_transfers_speed(migrator->out.transfers);
    if (!has_grown(recorder->link_in_written, in) && !has_grown(recorder->link_out_written, out)) return;
    recorder->link_in_written = in;
    recorder->link_out_written = out;
    sl_record(recorder, (struct sl_event){.type = SL_EVENT_LINK, .a = in, .b = out});
}

void sl_record_iteration(struct sl_recorder *recorder, const struct sl_stats *stats,
                         const struct sl_migrator *migrator)
{
    if (!recorder->trace) return;
    uint64_t iterations = stats->steps, changes = stats->plans + stats->total.mispredictions;
    sl_record(recorder, (struct sl_event){.type = SL_EVENT_ITERATION,
                                          .id = (uint32_t)iterations,
                                          .a = stats->fed - recorder->fed_written,
                                          .b = stats->fed,
                                          .c = stats->predicted});
    recorder->fed_written = stats->fed;
    if (iterations == NAMES_EARLY || iterations == NAMES_LATE) sl_tensor_names_ask();
    write_link(recorder, migrator);
    uint64_t now = sl_clock_ns(CLOCK_MONOTONIC);
    if (changes == recorder->changes_written || now - recorder->changes_written_ns < BETWEEN_CHANGES_NS)
        return;
    recorder->changes_written = changes;
    recorder->changes_written_ns = now;
    write_numbers(recorder, stats, CHANGING);
}

void sl_record_end(struct sl_recorder *recorder, const struct sl_stats *stats,
                   const struct sl_migrator *migrator)
{
    if (!recorder->trace) return;
    char moving[SL_MOVING_TEXT];
    if (sl_stats_moving_text(stats, moving)) metadata(recorder, "movers=%s", moving);
    write_link(recorder, migrator);
    write_numbers(recorder, stats, NUMBERS);
}
