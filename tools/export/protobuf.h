/* Writes messages in the wire format of Protocol Buffers (protobuf.dev/programming-guides/encoding), as far
 * as needed. */
#ifndef SLUICE_PROTOBUF_H
#define SLUICE_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero it. Once `no_memory` is set, the content is invalid and nothing more is added. */
struct protobuf {
    uint8_t *at;
    size_t bytes, room;
    bool no_memory;
};

/* `field` is the field's number, from 1 to 2^28. */
void protobuf_number(struct protobuf *message, uint32_t field, uint64_t value);
void protobuf_signed(struct protobuf *message, uint32_t field, int64_t value); /* int64, not sint64 */
void protobuf_fixed(struct protobuf *message, uint32_t field, uint64_t value); /* fixed64 */
void protobuf_text(struct protobuf *message, uint32_t field, const char *text);

/* A nested message: fields added between the two calls belong to it. Pass the result to protobuf_end. */
size_t protobuf_begin(struct protobuf *message, uint32_t field);
void protobuf_end(struct protobuf *message, size_t begin);

void protobuf_free(struct protobuf *message);

#endif
