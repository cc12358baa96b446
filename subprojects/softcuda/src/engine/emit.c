#include "build.h"
#include "rows.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool sc_fail(struct sc_build *build, uint32_t line, const char *format, ...)
{
    if (build->status != SC_ENGINE_OK) return false;
    build->status = SC_ENGINE_INVALID_PTX;
    if (!build->diagnostic) return false;
    build->diagnostic->line = line;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(build->diagnostic->text, sizeof build->diagnostic->text, format, arguments);
    va_end(arguments);
    for (char *c = build->diagnostic->text; *c; c++)
        if ((unsigned char)*c < 32) *c = ' ';
    return false;
}

bool sc_fail_memory(struct sc_build *build)
{
    if (build->status == SC_ENGINE_OK) build->status = SC_ENGINE_NO_MEMORY;
    return false;
}

#define VALUES_MAX (1u << 20)

static uint32_t add_value(struct sc_build *build, struct sc_value value)
{
    if (build->status != SC_ENGINE_OK) return 0;
    if (build->ir.values.count >= VALUES_MAX) {
        sc_fail(build, build->token.line, "too many registers");
        return 0;
    }
    if (!sc_vec_push(&build->ir.values, value)) {
        sc_fail_memory(build);
        return 0;
    }
    return build->ir.values.count - 1;
}

uint32_t sc_new_value(struct sc_build *build, unsigned bytes)
{
    return add_value(build, (struct sc_value){.kind = SC_VALUE_REGISTER, .bytes = (uint8_t)bytes});
}

uint32_t sc_constant(struct sc_build *build, unsigned bytes, uint64_t bits)
{
    if (bytes == 4) bits &= 0xffffffffu;
    for (uint32_t i = build->constants.count, tries = 64; i-- > 0 && tries--;) {
        uint32_t id = build->constants.at[i];
        const struct sc_value *value = &build->ir.values.at[id];
        if (value->bytes == bytes && value->bits == bits) return id;
    }
    uint32_t id =
        add_value(build, (struct sc_value){.kind = SC_VALUE_CONSTANT, .bytes = (uint8_t)bytes, .bits = bits});
    if (id && !sc_vec_push(&build->constants, id)) return sc_fail_memory(build);
    return id;
}

uint32_t sc_special_value(struct sc_build *build, enum sc_special special)
{
    if (build->special[special]) return build->special[special];
    bool wide =
        special == SC_SPECIAL_LOCAL || special == SC_SPECIAL_SHARED_BASE || special == SC_SPECIAL_PARAM_BASE;
    struct sc_value value = {.kind = SC_VALUE_SPECIAL, .bytes = wide ? 8 : 4, .bits = special};
    return build->special[special] = add_value(build, value);
}

uint32_t sc_new_label(struct sc_build *build)
{
    if (!sc_vec_push(&build->ir.labels, UINT32_MAX)) {
        sc_fail_memory(build);
        return 0;
    }
    return build->ir.labels.count - 1;
}

bool sc_set_label(struct sc_build *build, uint32_t label)
{
    if (build->status != SC_ENGINE_OK) return false;
    if (build->ir.labels.at[label] != UINT32_MAX)
        return sc_fail(build, build->token.line, "label defined twice");
    build->ir.labels.at[label] = build->ir.code.count;
    build->carry = 0;
    return true;
}

uint32_t sc_find_label(struct sc_build *build, const char *text, uint32_t bytes)
{
    struct sc_name *name = sc_names_find(&build->names, text, bytes);
    if (name && name->kind == SC_NAME_LABEL) return name->index;
    uint32_t label = sc_new_label(build);
    name = sc_names_add(&build->names, text, bytes, SC_NAME_LABEL);
    if (!name) return sc_fail_memory(build);
    name->index = label;
    return label;
}

struct sc_ir *sc_emit(struct sc_build *build, uint16_t code)
{
    if (build->status != SC_ENGINE_OK) return NULL;
    if (build->ir.code.count >= VALUES_MAX * 4u) {
        sc_fail(build, build->token.line, "function too long");
        return NULL;
    }
    struct sc_ir ir = {.code = code, .line = build->now ? build->now->line : build->token.line};
    if (build->now) {
        ir.guard = build->now->guard;
        ir.negated = build->now->negated;
        ir.weight = !build->now->weighed;
        build->now->weighed = true;
    }
    if (!sc_vec_push(&build->ir.code, ir)) {
        sc_fail_memory(build);
        return NULL;
    }
    return &build->ir.code.at[build->ir.code.count - 1];
}

bool sc_emit_row(struct sc_build *build, const char *name, uint32_t result, uint32_t a, uint32_t b,
                 uint32_t c, uint32_t e)
{
    uint32_t operands[5] = {result, a, b, c, e};
    uint32_t line = build->now ? build->now->line : build->token.line;
    if (build->status != SC_ENGINE_OK) return false;
    uint16_t code = sc_row_find(name);
    if (code == SC_OP_CODE_COUNT) return sc_fail(build, line, "instruction not built: %s", name);
    const struct sc_row *row = &sc_rows[code];
    for (unsigned i = 0; i <= row->sources; i++)
        if (!operands[i] || build->ir.values.at[operands[i]].bytes != row->bytes[i])
            return sc_fail(build, line, "operand %u of %s has the wrong size", i, name);
    struct sc_ir *ir = sc_emit(build, code);
    if (!ir) return false;
    ir->result[0] = result;
    ir->result_count = 1;
    ir->source_count = row->sources;
    memcpy(ir->source, operands + 1, row->sources * sizeof *operands);
    ir->flops = row->flops;
    if (result >= build->first_temporary) ir->guard = 0;
    return true;
}

bool sc_emit_operands(struct sc_build *build, const char *name, bool saturate)
{
    struct sc_instruction *now = build->now;
    uint16_t code = sc_row_find(name);
    if (code == SC_OP_CODE_COUNT) return sc_fail(build, now->line, "instruction not built: %.200s", name);
    const struct sc_row *row = &sc_rows[code];
    if (now->count != row->sources + 1u)
        return sc_fail(build, now->line, "%s takes %u operands", name, row->sources + 1);
    uint32_t operand[5] = {0};
    operand[0] = sc_target(build, &now->operand[0], row->bytes[0]);
    for (unsigned i = 1; i <= row->sources; i++)
        operand[i] = sc_source(build, &now->operand[i], row->bytes[i], row->type[i]);
    if (!saturate)
        return sc_emit_row(build, name, operand[0], operand[1], operand[2], operand[3], operand[4]);
    uint32_t temporary = sc_new_value(build, row->bytes[0]);
    return sc_emit_row(build, name, temporary, operand[1], operand[2], operand[3], operand[4]) &&
           sc_emit_row(build, row->bytes[0] == 8 ? "sat_f64" : "sat_f32", operand[0], temporary, 0, 0, 0);
}

bool sc_part_is(const struct sc_part *part, const char *text)
{
    return strlen(text) == part->bytes && memcmp(part->text, text, part->bytes) == 0;
}

bool sc_has(struct sc_build *build, const char *modifier)
{
    struct sc_instruction *now = build->now;
    for (unsigned i = 1; i < now->part_count; i++)
        if (sc_part_is(&now->part[i], modifier)) {
            now->used |= 1u << i;
            return true;
        }
    return false;
}

static const struct {
    const char *name;
    uint8_t bits;
    const char *untyped;
} types[] = {
    {"pred", 1, "b32"},       {"b8", 8, "b8"},          {"u8", 8, "b8"},          {"s8", 8, "b8"},
    {"b16", 16, "b16"},       {"u16", 16, "b16"},       {"s16", 16, "b16"},       {"f16", 16, "f16"},
    {"bf16", 16, "bf16"},     {"b32", 32, "b32"},       {"u32", 32, "b32"},       {"s32", 32, "b32"},
    {"f32", 32, "f32"},       {"f16x2", 32, "f16x2"},   {"b64", 64, "b64"},       {"u64", 64, "b64"},
    {"s64", 64, "b64"},       {"f64", 64, "f64"},       {"bf16x2", 32, "bf16x2"}, {"tf32", 32, "tf32"},
    {"e4m3x2", 16, "e4m3x2"}, {"e5m2x2", 16, "e5m2x2"}, {"f32x2", 64, "f32x2"},   {"s16x2", 32, "s16x2"},
    {"u16x2", 32, "u16x2"},   {"b128", 128, "b128"},
};

const char *sc_type(struct sc_build *build, unsigned from_end)
{
    static const char none[8] = ""; /* padded because selectors read the first characters of a type */
    struct sc_instruction *now = build->now;
    for (unsigned k = now->part_count; k-- > 1;)
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            if (sc_part_is(&now->part[k], types[i].name) && from_end-- == 0) {
                now->used |= 1u << k;
                return types[i].name;
            }
    return none;
}

unsigned sc_type_bits(const char *type)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, type) == 0) return types[i].bits;
    return 0;
}

const char *sc_untyped(const char *type)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, type) == 0) return types[i].untyped;
    return type;
}
