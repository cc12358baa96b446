/* What the trace, the log and `sluice top` are told of decisions: see record.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "core/core.h"
#include "core/record.h"
#include "trace/trace_write.h"

enum { NAME_BYTES = 96, OWN_BYTES = 40 };

/* Whether a trace or log takes decisions. */
static bool are_wanted(void)
{
    return sl_trace_emits() || sl_log_shows(SL_LOG_DEBUG);
}

static void record(enum sl_decision decision, uint32_t id, const uint64_t fields[4])
{
    sl_trace_emit((struct sl_event){.type = SL_EVENT_DECISION,
                                    .flags = (uint8_t)decision,
                                    .id = id,
                                    .a = fields[0],
                                    .b = fields[1],
                                    .c = fields[2],
                                    .d = fields[3]});
}

void sl_decision_plan_begun(enum sl_begin_reason why, sl_tick tick)
{
    if (!are_wanted()) return;
    record(SL_DECISION_BEGIN, why, (uint64_t[4]){tick});
    sl_log(SL_LOG_DEBUG, "launch %" PRIu64 ": a plan is begun: %s", tick,
           sl_decision_reason_text(SL_DECISION_BEGIN, why));
}

void sl_decision_plan_switch(const struct sl_schedule *schedule)
{
    const struct sl_steps *steps = &schedule->steps;
    if (!are_wanted()) return;
    record(SL_DECISION_SWITCH, 0,
           (uint64_t[4]){steps->first_tick, steps->serve, steps->out_count, steps->in_count});
    sl_log(SL_LOG_DEBUG,
           "launch %" PRIu64 ": a plan is carried out for %zu launches: %" PRIu32 " evictions, %" PRIu32
           " fetches",
           steps->first_tick, steps->serve, steps->out_count, steps->in_count);
}

void sl_decision_plan_goes_on(sl_tick tick, int64_t delay)
{
    sl_log(SL_LOG_DEBUG, "launch %" PRIu64 ": the plan goes on, %" PRId64 " launches later", tick, delay);
}

void sl_decision_plan_discarded(enum sl_cancel_reason why, sl_tick first, uint64_t left, bool carried_out)
{
    if (!are_wanted()) return;
    record(SL_DECISION_DISCARD, why, (uint64_t[4]){first, left, carried_out});
    sl_log(SL_LOG_DEBUG,
           "the plan from launch %" PRIu64 " on is discarded, %s, %" PRIu64 " launches left: %s", first,
           carried_out ? "being carried out" : "not begun", left,
           sl_decision_reason_text(SL_DECISION_DISCARD, why));
}

/* The first access in which two launches of one kernel and shape differ; the access count if none does. */
static uint32_t first_other_access(const struct sl_symbols *symbols, const struct sl_symbol_record *a,
                                   const struct sl_symbol_record *b)
{
    const struct sl_access *left = &symbols->accesses[a->first_access],
                           *right = &symbols->accesses[b->first_access];
    uint32_t i = 0;
    while (i < a->access_count && left[i].slot == right[i].slot && left[i].offset == right[i].offset &&
           left[i].where == right[i].where)
        i++;
    return i;
}

static enum sl_difference compare(const struct sl_symbols *symbols, const struct sl_symbol_record *expected,
                                  const struct sl_symbol_record *came, uint32_t *access)
{
    *access = 0;
    if (expected == came) return SL_DIFFERS_ORDER;
    if (expected->kind != came->kind) return SL_DIFFERS_KIND;
    if (expected->kind != SL_SYMBOL_LAUNCH) return SL_DIFFERS_SLOT;
    if (expected->kernel != came->kernel) return SL_DIFFERS_KERNEL;
    if (expected->shape != came->shape) return SL_DIFFERS_SHAPE;
    if (expected->access_count != came->access_count) return SL_DIFFERS_ACCESSES;
    *access = first_other_access(symbols, expected, came);
    return SL_DIFFERS_ACCESS;
}

static const char *name_of(const struct sl_scanner *scanner, const struct sl_symbol_record *record,
                           char room[NAME_BYTES])
{
    const struct sl_slot *slot = &scanner->placement->slots[record->slot];
    if (record->kind == SL_SYMBOL_LAUNCH) {
        if (record->kernel) return scanner->kernels.kernels[record->kernel].name;
        return record->launch_kind ? sl_launch_kind_text(record->launch_kind - 1u) : "a launch";
    }
    snprintf(room, NAME_BYTES, "%s of %" PRIu64 " bytes (slot %" PRIu32 ")",
             record->kind == SL_SYMBOL_ALLOC ? "an allocation" : "a free", slot->bytes, record->slot);
    return room;
}

/* The number to record: the slot of an access or allocation, else the kernel. */
static uint64_t number_of(const struct sl_symbols *symbols, const struct sl_symbol_record *record,
                          enum sl_difference what, uint32_t access)
{
    bool has_access = what == SL_DIFFERS_ACCESS && access < record->access_count;
    if (has_access) return symbols->accesses[record->first_access + access].slot;
    return record->kind == SL_SYMBOL_LAUNCH ? record->kernel : record->slot;
}

/* Describes the difference in an access, with a leading ": "; or writes "". */
static void describe_access(const struct sl_symbols *symbols, const struct sl_symbol_record *expected,
                            const struct sl_symbol_record *came, uint32_t access, char *out, size_t room)
{
    out[0] = 0;
    if (access >= expected->access_count) return;
    const struct sl_access *left = &symbols->accesses[expected->first_access + access],
                           *right = &symbols->accesses[came->first_access + access];
    snprintf(out, room,
             ": number %" PRIu32 " is slot %" PRIu32 " + %" PRIu64 ", expected was slot %" PRIu32
             " + %" PRIu64,
             access, right->slot, right->offset, left->slot, left->offset);
}

void sl_decision_misprediction(const struct sl_scanner *scanner, sl_tick tick, sl_symbol expected,
                               sl_symbol came)
{
    const struct sl_symbols *symbols = scanner->symbols;
    if (!are_wanted()) return;
    const struct sl_symbol_record *was = &symbols->records[expected], *is = &symbols->records[came];
    char was_name[NAME_BYTES], is_name[NAME_BYTES], where[NAME_BYTES + 64] = "";
    uint32_t access;
    enum sl_difference what = compare(symbols, was, is, &access);
    record(
        SL_DECISION_MISPREDICT, what,
        (uint64_t[4]){number_of(symbols, was, what, access), number_of(symbols, is, what, access), access});
    if (what == SL_DIFFERS_ACCESS) describe_access(symbols, was, is, access, where, sizeof where);
    sl_log(SL_LOG_DEBUG, "launch %" PRIu64 ": misprediction: %.200s came, expected was %.200s; %s differs%s",
           tick, name_of(scanner, is, is_name), name_of(scanner, was, was_name),
           sl_decision_reason_text(SL_DECISION_MISPREDICT, what), where);
}

/* What a symbol has that the other one has not: ", slot 7 (2 MiB)". A launch without a kernel is named by its
 * first slot in any case. */
static void describe_own(const struct sl_scanner *scanner, const struct sl_symbol_record *record,
                         enum sl_difference what, uint32_t access, char out[OWN_BYTES])
{
    char size[SL_BYTES_TEXT];
    bool unnamed = record->kind == SL_SYMBOL_LAUNCH && !record->kernel;
    out[0] = 0;
    if (what != SL_DIFFERS_ACCESS) access = 0;
    if ((what == SL_DIFFERS_ACCESS || unnamed) && access < record->access_count) {
        const struct sl_access *own = &scanner->symbols->accesses[record->first_access + access];
        snprintf(out, OWN_BYTES, ", slot %" PRIu32 " (%s)", own->slot,
                 sl_bytes_text(scanner->placement->slots[own->slot].bytes, size));
    } else if (what == SL_DIFFERS_ACCESSES) {
        snprintf(out, OWN_BYTES, ", %" PRIu32 " tensors", record->access_count);
    } else if (what == SL_DIFFERS_SHAPE) {
        snprintf(out, OWN_BYTES, ", shape %04x", (unsigned)(record->shape & 0xFFFF));
    }
}

static void name_own(const struct sl_scanner *scanner, const struct sl_symbol_record *record,
                     enum sl_difference what, uint32_t access, char *out, size_t bytes)
{
    char room[NAME_BYTES], own[OWN_BYTES];
    describe_own(scanner, record, what, access, own);
    snprintf(out, bytes, "%.*s%s", (int)(bytes - 1 - strlen(own)), name_of(scanner, record, room), own);
}

void sl_decision_names(const struct sl_scanner *scanner, sl_symbol expected, sl_symbol came,
                       char *expected_text, char *came_text, size_t bytes)
{
    const struct sl_symbol_record *was = &scanner->symbols->records[expected],
                                  *is = &scanner->symbols->records[came];
    uint32_t access;
    enum sl_difference what = compare(scanner->symbols, was, is, &access);
    name_own(scanner, was, what, access, expected_text, bytes);
    name_own(scanner, is, what, access, came_text, bytes);
}

void sl_decision_victims(uint64_t resident, uint64_t candidates, sl_tick tick, sl_chunk first,
                         sl_tick last_use)
{
    if (!are_wanted()) return;
    record(SL_DECISION_VICTIMS, first, (uint64_t[4]){resident, candidates, last_use});
    if (first == SL_NONE)
        sl_log(SL_LOG_DEBUG, "launch %" PRIu64 ": none of %" PRIu64 " resident chunks may leave", tick,
               resident);
    else
        sl_log(SL_LOG_DEBUG,
               "launch %" PRIu64 ": %" PRIu64 " of %" PRIu64 " resident chunks may leave, chunk %" PRIu32
               " first, last used by launch %" PRIu64,
               tick, candidates, resident, first, last_use);
}
