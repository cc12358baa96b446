/* Traces for tests: built in memory record by record, or read back whole. */
#ifndef TRACE_FILE_H
#define TRACE_FILE_H

#include "tools/trace/trace_read.h"

struct trace_bytes {
    uint8_t *bytes;
    size_t size;
};

/* A header and then a block for each `per_block` events; with an end record if `ended`. Free `bytes`. */
struct trace_bytes trace_build(const struct sl_event *events, size_t count, size_t per_block, bool ended);

/* Repairs the checksums after a deliberate change of the header's or a block's content. */
void trace_seal_header(struct trace_bytes *trace);
void trace_seal_block(struct trace_bytes *trace, size_t offset);

/* Everything a trace has up to its end or its first problem. Names are copied. */
struct trace_content {
    struct sl_trace_record *records;
    size_t count;
    struct sl_trace_problem problem;
    struct sluice_trace_header header;
};
struct trace_content trace_read_file(const char *path);
struct trace_content trace_read_bytes(const void *bytes, size_t size);
/* The same, going on behind the first damage; *found says whether there was a block to go on with. */
struct trace_content trace_read_past_damage(const void *bytes, size_t size, bool *found);
void trace_content_free(struct trace_content *content);

/* One event of each type with figures that need all lengths of varints. */
extern const struct sl_event trace_samples[];
extern const size_t trace_sample_count;

#endif
