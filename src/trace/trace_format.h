/* The byte format of records, shared by the trace's writer and reader. See include/sluice/trace.h. */
#ifndef SLUICE_TRACE_FORMAT_H
#define SLUICE_TRACE_FORMAT_H

#include "sluice/trace.h"
#include "trace/events.h"

/* SL_TRACE_RECORD_MAX bounds an encoded record. */
#define SL_TRACE_NAME_MAX 1023 /* longer texts are cut */
#define SL_TRACE_FIELDS 7
#define SL_TRACE_RECORD_MAX (4 + SL_TRACE_FIELDS * 10 + SL_TRACE_NAME_MAX)

/* Reference for the differences; zero it at the start of a block. */
struct sl_trace_base {
    uint64_t tick, time_ns;
};

/* Encodes one record and returns its length. Precondition: `out` has SL_TRACE_RECORD_MAX bytes. */
size_t sl_trace_encode(const struct sl_event *event, struct sl_trace_base *base, uint8_t *out);

/* Decodes the record at `in`, which has `available` bytes. Returns the record's length, or 0 if the bytes are
 * not a record. Copies a text to `name`, truncated and terminated, and points event->text there; NULL for
 * types without text. */
size_t sl_trace_decode(const uint8_t *in, size_t available, struct sl_trace_base *base,
                       struct sl_event *event, char name[SL_TRACE_NAME_MAX + 1]);

uint64_t sl_trace_header_checksum(const void *header, size_t header_bytes);
uint64_t sl_trace_block_checksum(const struct sluice_trace_block *block, const void *stored);

/* Names of a record type and its fields; a NULL field is unused. */
struct sl_trace_type_info {
    const char *name, *id, *a, *b, *c, *d;
    bool address_a; /* shown in hexadecimal */
    bool address_c;
    bool moment_b;       /* `b` is a time: the file stores its difference from the record's time */
    unsigned text_after; /* fields before its text; 0: no text */
};

/* NULL: a type that this version does not know. */
const struct sl_trace_type_info *sl_trace_type(unsigned type);

#endif
