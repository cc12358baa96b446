#include "trace/trace_format.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/varint.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file's structures are used in place");
_Static_assert(sizeof(struct sluice_trace_header) == 128 && sizeof(struct sluice_trace_block) == 48,
               "no padding");

static const struct sl_trace_type_info types[] = {
    [SL_EVENT_ALLOC] = {"alloc", "slot", "address", "bytes", "site", "stream", .address_a = true,
                        .address_c = true},
    [SL_EVENT_FREE] = {"free", "slot", "address", "bytes", "stream", .address_a = true, .address_c = true},
    [SL_EVENT_KERNEL] = {"kernel", "kernel", .text_after = 3},
    [SL_EVENT_LAUNCH] = {"launch", "kernel", "stream", "threads", "bytes", "as", .address_a = true},
    [SL_EVENT_ACCESS] = {"access", "slot", "offset", "bytes"},
    [SL_EVENT_MOVE] = {"move", "chunk", "bytes"},
    [SL_EVENT_STALL] = {"stall", NULL, "ns", "chunks", "launch"},
    [SL_EVENT_BUDGET] = {"budget", NULL, "budget", "chunk", "device"},
    [SL_EVENT_ITERATION] = {"iteration", "number", "symbols", "fed", "predicted"},
    [SL_EVENT_GAP] = {"gap", NULL, "lost"},
    [SL_EVENT_TRANSFER] = {"transfer", "chunk", "bytes", "began_ns", "ns", .moment_b = true},
    [SL_EVENT_LINK] = {"link", NULL, "in", "out"},
    [SL_EVENT_DURATION] = {"duration", "kernel", "ns", "began_ns", .moment_b = true},
    [SL_EVENT_SYNC] = {"sync", NULL, "ns", "handle"},
    [SL_EVENT_ERROR] = {"error", "code", "bytes", NULL, "site", .address_c = true},
    [SL_EVENT_MARK] = {"mark", "range", "domain", NULL, "source", .text_after = SL_TRACE_FIELDS},
    [SL_EVENT_SITE] = {"site", NULL, NULL, NULL, "site", .address_c = true, .text_after = SL_TRACE_FIELDS},
    [SL_EVENT_MODULE] = {"module", "module", "address", "build", "build2", .address_a = true,
                         .text_after = SL_TRACE_FIELDS},
    [SL_EVENT_METADATA] = {"metadata", .a = "value", .text_after = SL_TRACE_FIELDS},
    [SL_EVENT_SLAB] = {"slab", "chunk", "address", "bytes", .address_a = true},
    [SL_EVENT_DECISION] = {"decision", "id", "a", "b", "c", "d"},
    [SL_EVENT_ORDER] = {"order", NULL, "stream", "event", .address_a = true},
    [SL_EVENT_PYTHON] = {"python", "depth", "line", NULL, "site", .address_c = true,
                         .text_after = SL_TRACE_FIELDS},
    [SL_EVENT_NAME] = {"name", NULL, "address", "bytes", .address_a = true, .text_after = SL_TRACE_FIELDS},
    [SL_EVENT_MESSAGE] = {"message", "peer", "communicator", "bytes", "rank", .address_a = true},
    [SL_EVENT_THREAD] = {"thread", .a = "system_thread"},
};

const struct sl_trace_type_info *sl_trace_type(unsigned type)
{
    return type < sizeof(types) / sizeof(*types) && types[type].name ? &types[type] : NULL;
}

/* The number of fields before the text; 0: no text. */
static unsigned text_after(unsigned type)
{
    const struct sl_trace_type_info *info = sl_trace_type(type);
    return info ? info->text_after : 0;
}

static bool has_moment_b(unsigned type)
{
    const struct sl_trace_type_info *info = sl_trace_type(type);
    return info && info->moment_b;
}

static uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ (0 - (difference >> 63));
}
static uint64_t unzigzag(uint64_t coded)
{
    return coded >> 1 ^ (0 - (coded & 1));
}

size_t sl_trace_encode(const struct sl_event *event, struct sl_trace_base *base, uint8_t *out)
{
    uint8_t body[SL_TRACE_FIELDS * 10];
    uint64_t b = event->b;
    /* A moment is near the record's time, so the difference is shorter. 0 stays 0: no moment. */
    if (b && has_moment_b(event->type)) b = zigzag(event->time_ns - b) + 1;
    const uint64_t fields[SL_TRACE_FIELDS] = {zigzag(event->tick - base->tick),
                                              zigzag(event->time_ns - base->time_ns),
                                              event->id,
                                              event->a,
                                              b,
                                              event->c,
                                              event->d};
    unsigned named = text_after(event->type), count = named ? named : SL_TRACE_FIELDS;
    while (!named && count && !fields[count - 1]) count--;
    uint8_t *body_end = body;
    for (unsigned i = 0; i < count; i++) body_end = sl_varint_put(body_end, fields[i]);
    size_t body_bytes = (size_t)(body_end - body);
    size_t name_bytes = named && event->text ? strnlen(event->text, SL_TRACE_NAME_MAX) : 0;
    base->tick = event->tick;
    base->time_ns = event->time_ns;

    uint8_t *at = out;
    *at++ = event->type;
    *at++ = event->flags;
    at = sl_varint_put(at, body_bytes + name_bytes);
    memcpy(at, body, body_bytes);
    at += body_bytes;
    if (name_bytes) memcpy(at, event->text, name_bytes);
    return (size_t)(at - out) + name_bytes;
}

size_t sl_trace_decode(const uint8_t *in, size_t available, struct sl_trace_base *base,
                       struct sl_event *event, char name[SL_TRACE_NAME_MAX + 1])
{
    uint64_t body_bytes, fields[SL_TRACE_FIELDS] = {0};
    if (available < 3) return 0;
    const uint8_t *body = sl_varint_get(in + 2, in + available, &body_bytes);
    if (!body || body_bytes > (size_t)(in + available - body)) return 0;
    const uint8_t *end = body + body_bytes, *at = body;
    unsigned named = text_after(in[0]), count = named ? named : SL_TRACE_FIELDS;
    for (unsigned i = 0; i < count && at < end; i++) {
        at = sl_varint_get(at, end, &fields[i]);
        if (!at) return 0;
    }
    if (fields[2] > UINT32_MAX) return 0;
    base->tick += unzigzag(fields[0]);
    base->time_ns += unzigzag(fields[1]);
    if (fields[4] && has_moment_b(in[0])) fields[4] = base->time_ns - unzigzag(fields[4] - 1);
    *event = (struct sl_event){.type = in[0],
                               .flags = in[1],
                               .id = (uint32_t)fields[2],
                               .tick = base->tick,
                               .time_ns = base->time_ns,
                               .a = fields[3],
                               .b = fields[4],
                               .c = fields[5],
                               .d = fields[6]};
    if (named) {
        size_t bytes = (size_t)(end - at) < SL_TRACE_NAME_MAX ? (size_t)(end - at) : SL_TRACE_NAME_MAX;
        memcpy(name, at, bytes);
        name[bytes] = 0;
        event->text = name;
    }
    return (size_t)(end - in);
}

uint64_t sl_trace_header_checksum(const void *header, size_t header_bytes)
{
    return XXH64(header, header_bytes - sizeof(uint64_t), 0);
}

uint64_t sl_trace_block_checksum(const struct sluice_trace_block *block, const void *stored)
{
    return XXH64(stored, block->stored_bytes, XXH64(block, offsetof(struct sluice_trace_block, checksum), 0));
}
