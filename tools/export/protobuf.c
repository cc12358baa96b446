#include "tools/export/protobuf.h"

#include <stdlib.h>
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, VARINT_MAX = 10 };

static bool make_room(struct protobuf *message, size_t more)
{
    if (message->no_memory) return false;
    if (message->bytes + more <= message->room) return true;
    size_t room = 2 * message->room + more + 256;
    uint8_t *grown = realloc(message->at, room);
    if (!grown) {
        message->no_memory = true;
        return false;
    }
    message->at = grown;
    message->room = room;
    return true;
}

static size_t encode_varint(uint8_t out[VARINT_MAX], uint64_t value)
{
    size_t bytes = 0;
    for (; value >= 0x80; value >>= 7) out[bytes++] = (uint8_t)(value | 0x80);
    out[bytes++] = (uint8_t)value;
    return bytes;
}

static void put_varint(struct protobuf *message, uint64_t value)
{
    if (make_room(message, VARINT_MAX)) message->bytes += encode_varint(message->at + message->bytes, value);
}

static void put_tag(struct protobuf *message, uint32_t field, unsigned wire)
{
    put_varint(message, (uint64_t)field << 3 | wire);
}

void protobuf_number(struct protobuf *message, uint32_t field, uint64_t value)
{
    put_tag(message, field, WIRE_VARINT);
    put_varint(message, value);
}

void protobuf_signed(struct protobuf *message, uint32_t field, int64_t value)
{
    protobuf_number(message, field, (uint64_t)value);
}

void protobuf_fixed(struct protobuf *message, uint32_t field, uint64_t value)
{
    put_tag(message, field, WIRE_FIXED64);
    if (!make_room(message, sizeof(value))) return;
    for (unsigned i = 0; i < sizeof(value); i++) message->at[message->bytes++] = (uint8_t)(value >> 8 * i);
}

void protobuf_text(struct protobuf *message, uint32_t field, const char *text)
{
    size_t bytes = strlen(text);
    put_tag(message, field, WIRE_BYTES);
    put_varint(message, bytes);
    if (!make_room(message, bytes)) return;
    memcpy(message->at + message->bytes, text, bytes);
    message->bytes += bytes;
}

size_t protobuf_begin(struct protobuf *message, uint32_t field)
{
    put_tag(message, field, WIRE_BYTES);
    put_varint(message, 0); /* placeholder for the length, one byte */
    return message->bytes;
}

void protobuf_end(struct protobuf *message, size_t begin)
{
    uint8_t length[VARINT_MAX];
    if (!make_room(message, VARINT_MAX)) return;
    size_t inner = message->bytes - begin, bytes = encode_varint(length, inner);
    uint8_t *body = message->at + begin;
    if (bytes > 1) memmove(body + bytes - 1, body, inner);
    memcpy(body - 1, length, bytes);
    message->bytes += bytes - 1;
}

void protobuf_free(struct protobuf *message)
{
    free(message->at);
    *message = (struct protobuf){0};
}
