#include "trace/stack_walk.h"

#include <string.h>

enum { STATES_MOST = 4, OFFSET_MOST = 1 << 30 };

/* The instructions of DWARF 4, 6.4.2, and of the ABIs. The first three have an operand in their lower bits.
 */
enum {
    ADVANCE_LOC = 0x40,
    OFFSET = 0x80,
    RESTORE = 0xc0,
    OPERAND = 0x3f,
    NOP = 0,
    ADVANCE_LOC1 = 2,
    ADVANCE_LOC2,
    ADVANCE_LOC4,
    OFFSET_EXTENDED,
    RESTORE_EXTENDED,
    UNDEFINED,
    SAME_VALUE,
    REMEMBER_STATE = 0xa,
    RESTORE_STATE,
    DEF_CFA,
    DEF_CFA_REGISTER,
    DEF_CFA_OFFSET,
    DEF_CFA_EXPRESSION,
    EXPRESSION,
    OFFSET_EXTENDED_SF,
    DEF_CFA_SF,
    DEF_CFA_OFFSET_SF,
    AARCH64_NEGATE_RA_STATE = 0x2d,
    GNU_ARGS_SIZE
};
enum { OP_DEREF = 0x06, OP_BREG0 = 0x70 };

/* Bytes that are read one after the other. */
struct text {
    const uint8_t *at, *end;
    bool bad; /* something was read beyond the end, or is not understood */
};

static uint64_t take(struct text *text, size_t bytes)
{
    uint64_t value = 0;
    if ((size_t)(text->end - text->at) < bytes) {
        text->bad = true;
        text->at = text->end;
        return 0;
    }
    memcpy(&value, text->at, bytes); /* little-endian */
    text->at += bytes;
    return value;
}

/* LEB128; `is_signed`: extended by its highest bit. */
static int64_t take_leb(struct text *text, bool is_signed)
{
    uint64_t value = 0, byte;
    unsigned shift = 0;
    do {
        byte = take(text, 1);
        if (shift < 64) value |= (byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (is_signed && byte & 0x40 && shift < 64) value |= -((uint64_t)1 << shift);
    return (int64_t)value;
}

static uint64_t take_unsigned(struct text *text)
{
    return (uint64_t)take_leb(text, false);
}

/* A part of `text` of its own. */
static struct text take_part(struct text *text, uint64_t bytes)
{
    struct text part = {text->at, text->at, false};
    if (bytes > (uint64_t)(text->end - text->at))
        text->bad = part.bad = true;
    else
        part.end = text->at += bytes;
    return part;
}

/* What an entry of .eh_frame holds after its length. */
static struct text entry_at(const uint8_t *entry)
{
    struct text length = {entry, entry + 4, false};
    uint64_t bytes = take(&length, 4);
    return (struct text){entry + 4, entry + 4 + bytes, bytes >= 0xfffffff0 /* the 64-bit form */};
}

/* --- what functions have in common (CIE) */

struct common {
    uint64_t code_unit;
    int64_t data_unit;
    size_t pointer_bytes; /* of a code address in the function's entry */
    bool augmented;       /* that entry has data of its own */
    struct text instructions;
};

static size_t pointer_bytes_of(uint8_t encoding)
{
    static const uint8_t sizes[8] = {8, 0, 2, 4, 8};
    return sizes[encoding & 7];
}

/* The data that the letters of the augmentation stand for. */
static void read_augmentation(const char *letters, struct text *data, struct common *out)
{
    for (; *letters && !data->bad; letters++) {
        uint8_t encoding = 0;
        if (*letters == 'R') out->pointer_bytes = pointer_bytes_of((uint8_t)take(data, 1));
        if (*letters == 'L') take(data, 1);
        if (*letters == 'P') {
            encoding = (uint8_t)take(data, 1);
            take(data, pointer_bytes_of(encoding));
            data->bad |= !pointer_bytes_of(encoding);
        }
        if (!strchr("zRLPB", *letters)) data->bad = true; /* S: the frame was made by a signal */
    }
    data->bad |= !out->pointer_bytes;
}

static bool read_common(const uint8_t *entry, struct common *out)
{
    struct text text = entry_at(entry);
    char letters[8];
    size_t length = 0;
    bool is_common = take(&text, 4) == 0;
    uint64_t version = take(&text, 1);
    do {
        letters[length] = (char)take(&text, 1);
    } while (letters[length] && ++length < sizeof letters);
    if (text.bad || !is_common || length == sizeof letters || (version != 1 && version != 3)) return false;
    *out = (struct common){.pointer_bytes = 8, .augmented = *letters == 'z'};
    out->code_unit = take_unsigned(&text);
    out->data_unit = take_leb(&text, true);
    uint64_t address = version == 1 ? take(&text, 1) : take_unsigned(&text);
    if (address != SL_FRAME_RETURN || (*letters && !out->augmented)) return false;
    if (out->augmented) {
        struct text data = take_part(&text, take_unsigned(&text));
        read_augmentation(letters, &data, out);
        text.bad |= data.bad;
    }
    out->instructions = text;
    return !text.bad;
}

/* --- running the instructions */

struct run {
    const struct common *common;
    struct text text;
    uint64_t place,
        last; /* of the code, in bytes from the function's start: instructions beyond `last` do not count */
    struct sl_frame_rule now, initial, states[STATES_MOST];
    int depth;
};

static void extend(struct sl_frame_span *span, int64_t offset)
{
    if (offset < span->lowest) span->lowest = (int32_t)offset;
    if (offset > span->highest) span->highest = (int32_t)offset;
}

static int32_t checked(struct run *run, int64_t offset)
{
    if (offset < -OFFSET_MOST || offset > OFFSET_MOST || offset % 8) run->text.bad = true;
    return run->text.bad ? 0 : (int32_t)offset;
}

/* An offset that is told in the tables' unit. */
static int64_t take_scaled(struct run *run, bool is_signed)
{
    int64_t offset;
    bool overflows = __builtin_mul_overflow(take_leb(&run->text, is_signed), run->common->data_unit, &offset);
    if (overflows) run->text.bad = true;
    return overflows ? 0 : offset;
}

static void set_cfa(struct run *run, uint64_t base, int64_t offset)
{
    if (base >= SL_FRAME_GENERAL) run->text.bad = true;
    run->now.base = (uint8_t)base;
    run->now.held = false;
    run->now.offset = checked(run, offset);
}

/* The caller's value of a register is at CFA + offset or, `from_pointer`, at the frame pointer + offset. */
static void save(struct run *run, uint64_t which, int64_t offset, bool from_pointer)
{
    struct sl_frame_rule *now = &run->now;
    int32_t at = checked(run, offset);
    if (which >= SL_FRAME_REGISTERS || which == SL_FRAME_STACK || (which == SL_FRAME_RETURN && from_pointer))
        run->text.bad = true;
    if (run->text.bad) return;
    extend(from_pointer ? &now->from_pointer : &now->from_cfa, at);
    if (which == SL_FRAME_RETURN) {
        now->has_address = true;
        now->address_at = at;
    } else if (which == SL_FRAME_POINTER) {
        now->saves_pointer = true;
        now->pointer_at_pointer = from_pointer;
        now->pointer_at = at;
    }
}

/* What is lost in the spans is only that less would have to be readable. */
static void forget(struct run *run, uint64_t which, const struct sl_frame_rule *as)
{
    struct sl_frame_rule *now = &run->now;
    if (which >= SL_FRAME_REGISTERS || which == SL_FRAME_STACK) run->text.bad = true;
    if (which == SL_FRAME_RETURN) {
        now->has_address = as && as->has_address;
        now->address_at = as ? as->address_at : 0;
    } else if (which == SL_FRAME_POINTER) {
        now->saves_pointer = as && as->saves_pointer;
        now->pointer_at_pointer = as && as->pointer_at_pointer;
        now->pointer_at = as ? as->pointer_at : 0;
    }
}

/* The forms that compilers use for functions that align their frame: a register plus an offset, and the word
 * there. */
static void take_expression(struct run *run, uint64_t *base, int64_t *offset, bool *held)
{
    struct text text = take_part(&run->text, take_unsigned(&run->text));
    *base = take(&text, 1) - OP_BREG0;
    *offset = take_leb(&text, true);
    *held = text.at < text.end;
    if (*held && take(&text, 1) != OP_DEREF) text.bad = true;
    if (text.bad || text.at < text.end) run->text.bad = true;
}

static void run_expression(struct run *run, uint64_t code)
{
    uint64_t base, which = code == EXPRESSION ? take_unsigned(&run->text) : 0;
    int64_t offset;
    bool held;
    take_expression(run, &base, &offset, &held);
    if (code == DEF_CFA_EXPRESSION) {
        set_cfa(run, base, offset);
        run->now.held = held;
    } else if (held || base != SL_FRAME_POINTER) {
        run->text.bad = true;
    } else {
        save(run, which, offset, true);
    }
}

static void advance(struct run *run, uint64_t units)
{
    run->place += units * run->common->code_unit;
}

static void run_short(struct run *run, uint64_t code)
{
    struct text *text = &run->text;
    uint64_t which;
    switch (code) {
    case NOP:
        break;
    case ADVANCE_LOC1:
        advance(run, take(text, 1));
        break;
    case ADVANCE_LOC2:
        advance(run, take(text, 2));
        break;
    case ADVANCE_LOC4:
        advance(run, take(text, 4));
        break;
    case OFFSET_EXTENDED:
        which = take_unsigned(text);
        save(run, which, take_scaled(run, false), false);
        break;
    case OFFSET_EXTENDED_SF:
        which = take_unsigned(text);
        save(run, which, take_scaled(run, true), false);
        break;
    case RESTORE_EXTENDED:
        forget(run, take_unsigned(text), &run->initial);
        break;
    case UNDEFINED:
    case SAME_VALUE:
        forget(run, take_unsigned(text), NULL);
        break;
    case REMEMBER_STATE:
        if (run->depth < STATES_MOST)
            run->states[run->depth++] = run->now;
        else
            text->bad = true;
        break;
    case RESTORE_STATE:
        if (run->depth)
            run->now = run->states[--run->depth];
        else
            text->bad = true;
        break;
    case DEF_CFA:
        which = take_unsigned(text);
        set_cfa(run, which, take_leb(text, false));
        break;
    case DEF_CFA_SF:
        which = take_unsigned(text);
        set_cfa(run, which, take_scaled(run, true));
        break;
    case DEF_CFA_REGISTER:
        set_cfa(run, take_unsigned(text), run->now.offset);
        break;
    case DEF_CFA_OFFSET:
        set_cfa(run, run->now.base, take_leb(text, false));
        break;
    case DEF_CFA_OFFSET_SF:
        set_cfa(run, run->now.base, take_scaled(run, true));
        break;
    case DEF_CFA_EXPRESSION:
    case EXPRESSION:
        run_expression(run, code);
        break;
    case GNU_ARGS_SIZE:
        take_unsigned(text);
        break;
#ifdef __aarch64__
    case AARCH64_NEGATE_RA_STATE:
        break;
#endif
    default:
        text->bad = true;
    }
}

static bool run_all(struct run *run, struct text text, uint64_t last)
{
    run->text = text;
    run->place = 0;
    while (run->text.at < run->text.end && run->place <= last && !run->text.bad) {
        uint64_t code = take(&run->text, 1), operand = code & OPERAND;
        switch (code & ~(uint64_t)OPERAND) {
        case ADVANCE_LOC:
            advance(run, operand);
            break;
        case OFFSET:
            save(run, operand, take_scaled(run, false), false);
            break;
        case RESTORE:
            forget(run, operand, &run->initial);
            break;
        default:
            run_short(run, code);
        }
    }
    return !run->text.bad;
}

bool sl_frame_rule_read(const void *entry, uintptr_t start, uintptr_t address, struct sl_frame_rule *rule)
{
    static const struct sl_frame_span none = {INT32_MAX, INT32_MIN};
    struct text text = entry_at(entry);
    const uint8_t *distance_at = text.at; /* back to the common entry */
    uint64_t distance = take(&text, 4);
    struct common common;
    struct run run = {.common = &common, .now = {.from_cfa = none, .from_pointer = none}};
    if (text.bad || !distance || address <= start || !read_common(distance_at - distance, &common))
        return false;
    take_part(&text, 2 * common.pointer_bytes); /* first address and number of bytes */
    if (common.augmented) take_part(&text, take_unsigned(&text));
    if (text.bad || !run_all(&run, common.instructions, UINT64_MAX)) return false;
    run.initial = run.now;
    if (!run_all(&run, text, address - start - 1) || !run.now.has_address) return false;
    *rule = run.now;
    return true;
}
