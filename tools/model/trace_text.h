/* Trace records as text, and the names of the flags in them. */
#ifndef SLUICE_TRACE_TEXT_H
#define SLUICE_TRACE_TEXT_H

#include "trace/trace_format.h"
#include "trace/trace_read.h"

enum {
    LAUNCH_KINDS = SL_LAUNCH_COLLECTIVE + 1,
    MOVE_KINDS = SL_ACTION_POPULATE + 1, /* of real devices */
    MOVE_CAUSES = SL_CAUSE_LATE + 1
};

/* "unknown" for a number that has no name. */
const char *launch_kind_name(unsigned kind);
/* Whether a launch is a collective of which the trace says what it is: since 2.3. */
bool is_known_collective(const struct sl_event *event);
/* NCCL's function, without its prefix, of a launch that is a collective. */
const char *collective_name(uint32_t function);
const char *move_kind_name(unsigned kind);
const char *move_cause_name(unsigned cause);

/* The names of kernels that were seen so far. */
struct kernel_names {
    char **names; /* by kernel; NULL where none was seen */
    size_t count;
};
/* Notes a SL_EVENT_KERNEL. False when there is no memory. */
bool kernel_names_add(struct kernel_names *names, const struct sl_event *event);
const char *kernel_name(const struct kernel_names *names, uint32_t kernel); /* or NULL */
void kernel_names_free(struct kernel_names *names);

/* What a record's flags say: up to two words with their keys; returns how many. */
unsigned record_words(const struct sl_event *event, const char *keys[2], const char *words[2]);

/* A record's numbers id, a, b, c, d, as they are shown. */
struct record_field {
    const char *key; /* NULL: not used by this record */
    uint64_t value;
    bool address;
};
enum { RECORD_FIELDS = 5 };
void record_fields(const struct sl_event *event, struct record_field out[RECORD_FIELDS]);

/* The text that belongs to a record, made harmless, or NULL. `room` holds it where no table has it. */
enum { RECORD_NAME = SL_TRACE_NAME_MAX + 1 };
const char *record_name(const struct sl_event *event, const struct kernel_names *names,
                        char room[RECORD_NAME]);

/* One line for people, or one JSON object; both with a line's end. Times are since `start_ns`. */
void print_record(const struct sl_trace_record *record, const struct kernel_names *names, uint64_t start_ns);
void print_record_json(const struct sl_trace_record *record, const struct kernel_names *names,
                       uint64_t start_ns);

#endif
