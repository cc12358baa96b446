/* Trace records as text, and the names of their flags. */
#ifndef SLUICE_TRACE_TEXT_H
#define SLUICE_TRACE_TEXT_H

#include "trace/trace_format.h"
#include "tools/trace/trace_read.h"

enum {
    LAUNCH_KINDS = SL_LAUNCH_COLLECTIVE + 1,
    MOVE_KINDS = SL_ACTION_POPULATE + 1, /* on real devices */
    MOVE_CAUSES = SL_CAUSE_LATE + 1
};

/* "unknown" for a number without a name. */
const char *launch_kind_name(unsigned kind);
/* Whether a launch is a collective with a known function and communicator (since 2.3). */
bool is_known_collective(const struct sl_event *event);
/* NCCL's function of a collective, without its prefix. */
const char *collective_name(uint32_t function);
const char *move_kind_name(unsigned kind);
const char *move_cause_name(unsigned cause);

/* The names of the kernels seen so far. */
struct kernel_names {
    char **names; /* by kernel; NULL where none was seen */
    size_t count;
};
/* Records a SL_EVENT_KERNEL. False: out of memory. */
bool kernel_names_add(struct kernel_names *names, const struct sl_event *event);
const char *kernel_name(const struct kernel_names *names, uint32_t kernel); /* or NULL */
void kernel_names_free(struct kernel_names *names);

/* The flags of a record as up to two words with their keys; returns the number. */
unsigned record_words(const struct sl_event *event, const char *keys[2], const char *words[2]);

/* The numbers id, a, b, c, d of a record, as displayed. */
struct record_field {
    const char *key; /* NULL: this record does not use it */
    uint64_t value;
    bool address;
};
enum { RECORD_FIELDS = 5 };
void record_fields(const struct sl_event *event, struct record_field out[RECORD_FIELDS]);

/* The defused text of a record, or NULL. `room` holds it unless a table has it. */
enum { RECORD_NAME = SL_TRACE_NAME_MAX + 1 };
const char *record_name(const struct sl_event *event, const struct kernel_names *names,
                        char room[RECORD_NAME]);

/* One line for people, or one JSON object, ending with a newline. Times are since `start_ns`. */
void print_record(const struct sl_trace_record *record, const struct kernel_names *names, uint64_t start_ns);
void print_record_json(const struct sl_trace_record *record, const struct kernel_names *names,
                       uint64_t start_ns);

#endif
