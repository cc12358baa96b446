/* mma, wmma, ldmatrix, stmatrix, movmatrix: see matrix.h. */
#include "build.h"
#include "matrix.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    uint8_t element;
} elements[] = {
    {"f16", SC_ELEMENT_F16}, {"bf16", SC_ELEMENT_BF16}, {"tf32", SC_ELEMENT_TF32}, {"f32", SC_ELEMENT_F32},
    {"f64", SC_ELEMENT_F64}, {"e4m3", SC_ELEMENT_E4M3}, {"e5m2", SC_ELEMENT_E5M2}, {"s8", SC_ELEMENT_S8},
    {"u8", SC_ELEMENT_U8},   {"s4", SC_ELEMENT_S4},     {"u4", SC_ELEMENT_U4},     {"b1", SC_ELEMENT_B1},
    {"s32", SC_ELEMENT_S32},
};

/* Reads the element types among the modifiers, in order; returns their number. */
static unsigned read_elements(struct sc_build *build, uint8_t out[4])
{
    struct sc_instruction *now = build->now;
    unsigned count = 0;
    for (unsigned i = 1; i < now->part_count; i++)
        for (size_t k = 0; k < sizeof elements / sizeof *elements && count < 4; k++)
            if (sc_part_is(&now->part[i], elements[k].name)) {
                now->used |= 1u << i;
                out[count++] = elements[k].element;
            }
    return count;
}

/* Reads a shape such as m16n8k16 */
static bool read_shape(struct sc_build *build, union sc_matrix *shape)
{
    struct sc_instruction *now = build->now;
    for (unsigned i = 1; i < now->part_count; i++) {
        char text[24];
        unsigned m, n, k;
        int used = 0;
        if (now->part[i].bytes >= sizeof text) continue;
        snprintf(text, sizeof text, "%.*s", (int)now->part[i].bytes, now->part[i].text);
        if (sscanf(text, "m%un%uk%u%n", &m, &n, &k, &used) != 3 || text[used]) continue;
        if (m % 8 || n % 8 || m < 8 || n < 8 || m > 32 || n > 32 || k < 4 || k > 256 || k % 4) return false;
        now->used |= 1u << i;
        shape->m = (uint8_t)m, shape->n = (uint8_t)n, shape->k = (uint16_t)k;
        return true;
    }
    return false;
}

/* Reads the layouts, `row` or `col`, in order */
static unsigned read_layouts(struct sc_build *build, bool column[2])
{
    struct sc_instruction *now = build->now;
    unsigned count = 0;
    for (unsigned i = 1; i < now->part_count && count < 2; i++) {
        bool row = sc_part_is(&now->part[i], "row");
        if (!row && !sc_part_is(&now->part[i], "col")) continue;
        now->used |= 1u << i;
        column[count++] = !row;
    }
    return count;
}

static unsigned bytes_of(uint8_t element)
{
    return element == SC_ELEMENT_F64 ? 8 : 4;
}

/* The registers of a vector operand, or a single register. Returns their number; 0 on failure. */
static unsigned read_registers(struct sc_build *build, const struct sc_operand *operand, uint8_t element,
                               bool target, uint32_t *value)
{
    bool vector = operand->kind == SC_OPERAND_VECTOR;
    unsigned count = vector ? operand->count : 1;
    for (unsigned i = 0; i < count; i++) {
        struct sc_operand one = *operand;
        if (vector)
            one = (struct sc_operand){.kind = operand->element[i].kind,
                                      .value = operand->element[i].value,
                                      .bits = operand->element[i].bits,
                                      .literal_kind = operand->element[i].literal_kind};
        value[i] = target ? sc_target(build, &one, bytes_of(element))
                          : sc_source(build, &one, bytes_of(element),
                                      element == SC_ELEMENT_F32 || element == SC_ELEMENT_F64 ? 'f' : 'b');
        if (!value[i]) return 0;
    }
    return count;
}

static bool fits(const union sc_matrix *shape, enum sc_matrix_part part, uint8_t element, unsigned registers)
{
    unsigned needed = sc_fragment_registers(shape, part, (enum sc_element)element);
    return needed && registers % needed == 0;
}

static bool is_integer(uint8_t element)
{
    return element >= SC_ELEMENT_S8;
}

/* Whether the multiplication supports this combination of types */
static bool types_match(const union sc_matrix *shape)
{
    bool byte_floats = shape->a == SC_ELEMENT_E4M3 || shape->a == SC_ELEMENT_E5M2;
    if (is_integer(shape->a))
        return is_integer(shape->b) && shape->c == SC_ELEMENT_S32 && shape->d == SC_ELEMENT_S32 &&
               sc_element_bits((enum sc_element)shape->a) == sc_element_bits((enum sc_element)shape->b);
    if (shape->a == SC_ELEMENT_F64)
        return shape->b == SC_ELEMENT_F64 && shape->c == SC_ELEMENT_F64 && shape->d == SC_ELEMENT_F64;
    bool same =
        shape->a == shape->b || (byte_floats && (shape->b == SC_ELEMENT_E4M3 || shape->b == SC_ELEMENT_E5M2));
    bool half = shape->a == SC_ELEMENT_F16 || byte_floats;
    return same && shape->a != SC_ELEMENT_F32 &&
           (shape->c == SC_ELEMENT_F32 || (half && shape->c == SC_ELEMENT_F16)) &&
           (shape->d == SC_ELEMENT_F32 || (half && shape->d == SC_ELEMENT_F16));
}

static enum sc_matrix_rate rate_of(enum sc_element multiplied)
{
    unsigned bits = sc_element_bits(multiplied);
    if (bits == 32) return SC_RATE_TF32;
    return bits == 64 ? SC_RATE_NONE : bits == 16 ? SC_RATE_HALF : SC_RATE_BYTE;
}

/* [w]mma.sync.aligned.shape.row.col.d.a.b.c d, a, b, c. wmma of f16 has only the types d and c. */
static bool multiply(struct sc_build *build, bool wmma)
{
    struct sc_instruction *now = build->now;
    union sc_matrix shape = {.bits = 0};
    uint8_t type[4] = {0};
    bool column[2];
    uint32_t value[4][8];
    unsigned count[4], types = read_elements(build, type);
    bool known = read_shape(build, &shape) && now->count == 4;
    unsigned layouts = read_layouts(build, column);
    if (!known || (layouts != 2 && !(layouts == 0 && wmma)) || (!wmma && (column[0] || !column[1])))
        return sc_fail(build, now->line, "a matrix product of this shape is not built");
    if (wmma && types == 2) type[3] = type[1], type[1] = type[2] = SC_ELEMENT_F16, types = 4;
    if (!wmma && types == 2) type[3] = type[0], type[2] = type[1], types = 4;
    shape.d = type[0] & 15, shape.a = type[1], shape.b = type[2], shape.c = type[3] & 15;
    shape.saturate = sc_has(build, "satfinite");
    shape.with_and = sc_has(build, "and");
    sc_has(build, "xor");
    sc_has(build, "popc");
    sc_has(build, "rn");
    static const enum sc_matrix_part part[] = {SC_MATRIX_C, SC_MATRIX_A, SC_MATRIX_B, SC_MATRIX_C};
    if (types != 4 || !types_match(&shape))
        return sc_fail(build, now->line, "a matrix product of these types is not built");
    for (unsigned i = 0; i < 4; i++) {
        count[i] = read_registers(build, &now->operand[i], type[i], i == 0, value[i]);
        if (!count[i] || !fits(&shape, part[i], type[i], count[i]))
            return sc_fail(build, now->line, "operand %u is not a fragment of this shape", i);
    }
    struct sc_ir *ir = sc_emit(build, SC_OP_MATRIX);
    if (!ir) return false;
    ir->immediate = shape.bits;
    ir->access.count = (uint8_t)count[0];
    ir->access.element_bytes = (uint8_t)count[1];
    ir->access.result_bytes = (uint8_t)count[2];
    ir->flops = 2u * shape.m * shape.n * shape.k / 32;
    build->ir.rate = rate_of(type[1]);
    memcpy(ir->result, value[0], count[0] * sizeof **value);
    ir->result_count = (uint8_t)count[0];
    for (unsigned i = 1; i < 4; i++) {
        memcpy(ir->source + ir->source_count, value[i], count[i] * sizeof **value);
        ir->source_count = (uint8_t)(ir->source_count + count[i]);
    }
    return true;
}

static bool select_mma(struct sc_build *build)
{
    sc_has(build, "sync");
    sc_has(build, "aligned");
    return multiply(build, false);
}

/* wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {...}, [p], stride; wmma.store.d ... [p], {...}, stride
 */
static bool move_fragment(struct sc_build *build, bool store)
{
    struct sc_instruction *now = build->now;
    union sc_matrix shape = {.bits = 0};
    uint8_t type[4] = {0};
    bool column[2] = {false, false};
    uint32_t value[8], base = 0;
    struct sc_access access = {0};
    bool a = sc_has(build, "a"), b = sc_has(build, "b");
    if (!a && !b) sc_has(build, store ? "d" : "c");
    unsigned types = read_elements(build, type);
    if (!read_shape(build, &shape) || types != 1 || read_layouts(build, column) != 1 || now->count < 2 ||
        now->count > 3)
        return sc_fail(build, now->line, "a matrix of this shape is not built");
    shape.a = type[0];
    shape.part = (uint8_t)(a ? SC_MATRIX_A : b ? SC_MATRIX_B : SC_MATRIX_C) & 3;
    shape.column = column[0];
    shape.has_stride = now->count == 3;
    enum sc_matrix_part part = a ? SC_MATRIX_A : b ? SC_MATRIX_B : SC_MATRIX_C;
    unsigned count = read_registers(build, &now->operand[store], type[0], !store, value);
    uint32_t stride = now->count == 3 ? sc_source(build, &now->operand[2], 4, 'b') : 0;
    if (!count || !fits(&shape, part, type[0], count))
        return sc_fail(build, now->line, "not a fragment of this shape");
    if (!sc_wide_address(build, &now->operand[!store], &access, &base)) return false;
    struct sc_ir *ir = sc_emit(build, store ? SC_OP_FRAGMENT_STORE : SC_OP_FRAGMENT_LOAD);
    if (!ir) return false;
    ir->access = access;
    ir->access.count = (uint8_t)count;
    ir->immediate = shape.bits;
    if (!store) memcpy(ir->result, value, count * sizeof *value), ir->result_count = (uint8_t)count;
    ir->source[ir->source_count++] = base;
    if (store)
        for (unsigned i = 0; i < count; i++) ir->source[ir->source_count++] = value[i];
    if (stride) ir->source[ir->source_count++] = stride;
    return true;
}

static bool select_wmma(struct sc_build *build)
{
    sc_has(build, "sync");
    sc_has(build, "aligned");
    if (sc_has(build, "load")) return move_fragment(build, false);
    if (sc_has(build, "store")) return move_fragment(build, true);
    return sc_has(build, "mma") && multiply(build, true);
}

/* ldmatrix, stmatrix .sync.aligned.m8n8.x4[.trans][.shared].b16 */
static bool select_rows(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    bool store = now->part[0].text[0] == 's';
    struct sc_access access = {0};
    union sc_matrix shape = {.bits = 0};
    uint32_t value[8], base = 0;
    sc_has(build, "sync");
    sc_has(build, "aligned");
    sc_type(build, 0);
    unsigned count = sc_has(build, "x4") ? 4 : sc_has(build, "x2") ? 2 : sc_has(build, "x1") ? 1 : 0;
    shape.column = sc_has(build, "trans");
    if (!sc_has(build, "m8n8") || !count || now->count != 2)
        return sc_fail(build, now->line, "matrices of this shape are not built");
    if (read_registers(build, &now->operand[store], SC_ELEMENT_S32, !store, value) != count)
        return sc_fail(build, now->line, "a vector of %u is missing", count);
    if (!sc_wide_address(build, &now->operand[!store], &access, &base)) return false;
    struct sc_ir *ir = sc_emit(build, store ? SC_OP_ROWS_STORE : SC_OP_ROWS_LOAD);
    if (!ir) return false;
    ir->access = access;
    ir->access.count = (uint8_t)count;
    ir->immediate = shape.bits;
    ir->source[ir->source_count++] = base;
    for (unsigned i = 0; i < count; i++) {
        if (store)
            ir->source[ir->source_count++] = value[i];
        else
            ir->result[ir->result_count++] = value[i];
    }
    return true;
}

static bool select_transpose(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    sc_has(build, "sync");
    sc_has(build, "aligned");
    sc_has(build, "trans");
    sc_type(build, 0);
    if (!sc_has(build, "m8n8") || now->count != 2)
        return sc_fail(build, now->line, "movmatrix not understood");
    uint32_t target = sc_target(build, &now->operand[0], 4),
             source = sc_source(build, &now->operand[1], 4, 'b');
    struct sc_ir *ir = source ? sc_emit(build, SC_OP_TRANSPOSE) : NULL;
    if (!ir) return false;
    ir->result[0] = target, ir->result_count = 1;
    ir->source[0] = source, ir->source_count = 1;
    return true;
}

const struct sc_selector_entry sc_select_matrix[] = {
    {"mma", select_mma},       {"wmma", select_wmma},           {"ldmatrix", select_rows},
    {"stmatrix", select_rows}, {"movmatrix", select_transpose}, {NULL, NULL},
};
