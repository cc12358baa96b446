/* Records as bytes: what the trace's writer and reader share. See include/sluice/trace.h. */
#ifndef SLUICE_TRACE_FORMAT_H
#define SLUICE_TRACE_FORMAT_H

#include "base/file_kind.h"
#include "sluice/trace.h"
#include "trace/events.h"

/* An encoded record is never longer. */
#define SL_TRACE_NAME_MAX 1023 /* longer texts are cut */
#define SL_TRACE_FIELDS 7
#define SL_TRACE_RECORD_MAX (4 + SL_TRACE_FIELDS * 10 + SL_TRACE_NAME_MAX)

/* What differences are taken from; zero it at the start of a block. */
struct sl_trace_base {
    uint64_t tick, time_ns;
};

/* Encodes one record and returns its bytes. pre: `out` has SL_TRACE_RECORD_MAX. */
size_t sl_trace_encode(const struct sl_event *event, struct sl_trace_base *base, uint8_t *out);

/* Decodes the record at `in`, which has `available` bytes. Returns the bytes it took, or 0 if they are no
 * record. A text goes to `name`, cut and terminated, and event->text points there; types without one have
 * NULL. */
size_t sl_trace_decode(const uint8_t *in, size_t available, struct sl_trace_base *base,
                       struct sl_event *event, char name[SL_TRACE_NAME_MAX + 1]);

uint64_t sl_trace_header_checksum(const void *header, size_t header_bytes);
uint64_t sl_trace_block_checksum(const struct sluice_trace_block *block, const void *stored);

/* How a record type is shown: its name and those of its fields; a NULL field is not used. */
struct sl_trace_type_info {
    const char *name, *id, *a, *b, *c, *d;
    bool address_a; /* `a` is best shown in hexadecimal */
    bool address_c;
    bool moment_b;       /* `b` is a time: the file has its difference to the record's */
    unsigned text_after; /* fields before its text; 0: it has none */
};

/* NULL for a type that this version does not know. */
const struct sl_trace_type_info *sl_trace_type(unsigned type);

/* What a trace begins with. */
extern const struct sl_file_kind sl_file_trace;

#endif
