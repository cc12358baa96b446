/* mma, wmma, ldmatrix, stmatrix, movmatrix: a warp at a time.
 *
 * Products of 16-bit and narrower numbers are exact in double; they are summed in double in the order of k,
 * and the sum is rounded once. A sum of such products is thereby at least as exact as the hardware's. */
#include <math.h>
#include <string.h>

#include "lane.h"
#include "matrix.h"
#include "ops.h"
#include "small.h"
#include "worker.h"

#define WARP 32u
#define ELEMENTS_MAX 1024u /* of a matrix: 16 x 64 four-bit numbers, or 32 x 32 others */

struct warp {
    const struct sc_group *group;
    const uint32_t *places; /* place and stride of each operand */
    uint32_t first;         /* lane */
    uint32_t active;
};

static uint32_t active_lanes(const struct sc_group *group, uint32_t first)
{
    uint32_t bits = 0, begin = group->first_chunk * SC_CHUNK, end = begin + group->chunks * SC_CHUNK;
    for (uint32_t i = 0; i < WARP; i++)
        if (first + i >= begin && first + i < end) bits |= (group->use_mask[first + i] & 1u) << i;
    return bits;
}

/* The next warp that has an active lane; false at the end. Starts with warp->first beyond any group. */
static bool next_warp(struct warp *warp, const struct sc_group *group, const struct sc_op *op)
{
    uint32_t begin = group->first_chunk / 2 * WARP, end = (group->first_chunk + group->chunks) * SC_CHUNK;
    warp->group = group;
    warp->places = group->program->places + op->extra;
    warp->first = warp->first == UINT32_MAX ? begin : warp->first + WARP;
    for (; warp->first < end; warp->first += WARP)
        if ((warp->active = active_lanes(group, warp->first)) != 0) return true;
    return false;
}

static uint64_t get(const struct warp *warp, unsigned operand, uint32_t lane, unsigned bytes)
{
    const unsigned char *at = warp->group->file + warp->places[2 * operand];
    uint32_t i = warp->places[2 * operand + 1] ? warp->first + lane : 0;
    return bytes == 8 ? ((const sc_lane64 *)(const void *)at)[i] : ((const sc_lane32 *)(const void *)at)[i];
}

static void put(const struct warp *warp, unsigned operand, uint32_t lane, unsigned bytes, uint64_t value)
{
    unsigned char *at = warp->group->file + warp->places[2 * operand];
    if (!(warp->active >> lane & 1)) return;
    if (bytes == 8)
        ((sc_lane64 *)(void *)at)[warp->first + lane] = value;
    else
        ((sc_lane32 *)(void *)at)[warp->first + lane] = (uint32_t)value;
}

unsigned sc_element_bits(enum sc_element element)
{
    static const uint8_t bits[SC_ELEMENT_COUNT] = {
        [SC_ELEMENT_F16] = 16, [SC_ELEMENT_BF16] = 16, [SC_ELEMENT_TF32] = 32, [SC_ELEMENT_F32] = 32,
        [SC_ELEMENT_F64] = 64, [SC_ELEMENT_E4M3] = 8,  [SC_ELEMENT_E5M2] = 8,  [SC_ELEMENT_S8] = 8,
        [SC_ELEMENT_U8] = 8,   [SC_ELEMENT_S4] = 4,    [SC_ELEMENT_U4] = 4,    [SC_ELEMENT_B1] = 1,
        [SC_ELEMENT_S32] = 32,
    };
    return bits[element];
}

/* Elements in one register */
static unsigned elements_of(enum sc_element type)
{
    unsigned bits = sc_element_bits(type);
    return bits >= 32 ? 1 : 32 / bits;
}

unsigned sc_fragment_registers(const union sc_matrix *shape, enum sc_matrix_part part, enum sc_element type)
{
    unsigned rows = part == SC_MATRIX_B ? shape->k : shape->m,
             columns = part == SC_MATRIX_A ? shape->k : shape->n;
    unsigned each = elements_of(type) * WARP;
    if (rows * columns > ELEMENTS_MAX * (type == SC_ELEMENT_B1 ? 4 : 1) || (rows * columns) % each) return 0;
    return rows * columns / each;
}

struct position {
    unsigned row, column;
};

/* Element e of register r of a lane. Blocks of 16 (or 8) rows of A, 8 columns of B, both in C, follow one
 * another. */
static struct position position_of(const union sc_matrix *shape, enum sc_matrix_part part,
                                   enum sc_element type, uint32_t lane, unsigned r, unsigned e)
{
    unsigned group = lane / 4, in_group = lane % 4, each = elements_of(type);
    unsigned rows = shape->m % 16 ? 8 : 16; /* of a block */
    r %= sc_fragment_registers(shape, part, type);
    if (part == SC_MATRIX_A) {
        unsigned block = rows * shape->k / (WARP * each), inside = r % block;
        unsigned low = rows == 16 ? inside % 2 : 0, right = rows == 16 ? inside / 2 : inside;
        return (struct position){r / block * rows + group + 8 * low, in_group * each + e + 4 * each * right};
    }
    if (part == SC_MATRIX_B) {
        unsigned block = shape->k * 8 / (WARP * each);
        return (struct position){in_group * each + e + 4 * each * (r % block), r / block * 8 + group};
    }
    unsigned x = r * each + e, block = x / (rows / 4), beside = shape->n / 8u, inside = x % (rows / 4);
    return (struct position){block / beside * rows + group + 8 * (inside / 2),
                             block % beside * 8 + in_group * 2 + inside % 2};
}

static double number_of(enum sc_element type, uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    switch (type) {
    case SC_ELEMENT_F16:
        return sc_half_to_float(low & 0xffff);
    case SC_ELEMENT_BF16:
        return sc_bfloat_to_float(low & 0xffff);
    case SC_ELEMENT_TF32:
        return sc_float_of(low & 0xffffe000u);
    case SC_ELEMENT_F32:
        return sc_float_of(low);
    case SC_ELEMENT_F64:
        return sc_double_of(bits);
    case SC_ELEMENT_E4M3:
        return sc_e4m3_to_float(low & 0xff);
    case SC_ELEMENT_E5M2:
        return sc_half_to_float((low & 0xff) << 8);
    case SC_ELEMENT_S8:
        return (int8_t)low;
    case SC_ELEMENT_U8:
        return (uint8_t)low;
    case SC_ELEMENT_S4:
        return (int32_t)(low << 28) >> 28;
    case SC_ELEMENT_U4:
        return low & 15;
    case SC_ELEMENT_S32:
        return (int32_t)low;
    default:
        return 0;
    }
}

/* A fragment's registers, from operand `first` on, into a matrix kept row by row */
static void gather(const struct warp *warp, const union sc_matrix *shape, enum sc_matrix_part part,
                   enum sc_element type, unsigned first, double *matrix)
{
    unsigned registers = sc_fragment_registers(shape, part, type), each = elements_of(type);
    unsigned bits = sc_element_bits(type), columns = part == SC_MATRIX_A ? shape->k : shape->n;
    for (unsigned r = 0; r < registers; r++)
        for (uint32_t lane = 0; lane < WARP; lane++) {
            uint64_t word = get(warp, first + r, lane, bits == 64 ? 8 : 4);
            for (unsigned e = 0; e < each; e++) {
                struct position at = position_of(shape, part, type, lane, r, e);
                matrix[at.row * columns + at.column] = number_of(type, word >> (e * bits % 64));
            }
        }
}

static uint32_t integer_bits(double sum, bool saturate)
{
    if (saturate)
        return sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? (uint32_t)INT32_MIN : (uint32_t)(int32_t)sum;
    return (uint32_t)(int64_t)sum;
}

static uint64_t bits_of_number(enum sc_element type, double sum, bool saturate)
{
    switch (type) {
    case SC_ELEMENT_F16:
        return sc_half_from_double(sum);
    case SC_ELEMENT_F32:
        return sc_bits_of(sc_canonical((float)sum));
    case SC_ELEMENT_F64:
        return sc_bits_of_double(sc_canonical_f64(sum));
    default:
        return integer_bits(sum, saturate);
    }
}

static void scatter(const struct warp *warp, const union sc_matrix *shape, const double *matrix)
{
    enum sc_element type = (enum sc_element)shape->d;
    unsigned registers = sc_fragment_registers(shape, SC_MATRIX_C, type), each = elements_of(type);
    for (unsigned r = 0; r < registers; r++)
        for (uint32_t lane = 0; lane < WARP; lane++) {
            uint64_t word = 0;
            for (unsigned e = 0; e < each; e++) {
                struct position at = position_of(shape, SC_MATRIX_C, type, lane, r, e);
                word |= bits_of_number(type, matrix[at.row * shape->n + at.column], shape->saturate)
                        << (16 * e);
            }
            put(warp, r, lane, type == SC_ELEMENT_F64 ? 8 : 4, word);
        }
}

static void multiply(const union sc_matrix *shape, const double *a, const double *b, double *c)
{
    bool fused = shape->a == SC_ELEMENT_F64;
    for (unsigned i = 0; i < shape->m; i++)
        for (unsigned j = 0; j < shape->n; j++) {
            double sum = fused ? c[i * shape->n + j] : 0;
            for (unsigned l = 0; l < shape->k; l++) {
                double x = a[i * shape->k + l], y = b[l * shape->n + j];
                sum = fused ? __builtin_fma(x, y, sum) : sum + x * y;
            }
            c[i * shape->n + j] = fused ? sum : sum + c[i * shape->n + j];
        }
}

/* One bit an element: the population count of the exclusive or, or of the conjunction, of rows and columns */
static void multiply_bits(const struct warp *warp, const union sc_matrix *shape, unsigned a, unsigned b,
                          double *c)
{
    unsigned a_each = shape->k / 128, b_each = a_each, rows = shape->m / 8u;
    for (unsigned i = 0; i < shape->m; i++)
        for (unsigned j = 0; j < shape->n; j++)
            for (unsigned word = 0; word < 4 * a_each; word++) {
                unsigned half = word / 4, lane = word % 4;
                uint32_t x = (uint32_t)get(warp, a + (i / 8) + rows * half, i % 8 * 4 + lane, 4);
                uint32_t y = (uint32_t)get(warp, b + j / 8 * b_each + half, j % 8 * 4 + lane, 4);
                c[i * shape->n + j] += __builtin_popcount(shape->with_and ? x & y : x ^ y);
            }
}

bool sc_run_matrix(struct sc_group *group, const struct sc_op *op)
{
    const union sc_matrix shape = {.bits = op->immediate};
    unsigned d = op->access.count, a = op->access.element_bytes, b = op->access.result_bytes;
    double ma[ELEMENTS_MAX], mb[ELEMENTS_MAX], mc[ELEMENTS_MAX];
    for (struct warp warp = {.first = UINT32_MAX}; next_warp(&warp, group, op);) {
        gather(&warp, &shape, SC_MATRIX_C, (enum sc_element)shape.c, d + a + b, mc);
        if (shape.a == SC_ELEMENT_B1) {
            multiply_bits(&warp, &shape, d, d + a, mc);
        } else {
            gather(&warp, &shape, SC_MATRIX_A, (enum sc_element)shape.a, d, ma);
            gather(&warp, &shape, SC_MATRIX_B, (enum sc_element)shape.b, d + a, mb);
            multiply(&shape, ma, mb, mc);
        }
        scatter(&warp, &shape, mc);
    }
    return true;
}

/* Checks [address, address + bytes) for a lane, and counts it. */
static bool access_for(struct sc_group *group, const struct sc_op *op, uint64_t address, uint32_t bytes,
                       uint32_t align, uint32_t lane, bool write)
{
    struct sc_window *window = &group->caches[op->cache];
    if (address & (align - 1)) {
        group->fault_kind = SC_FAULT_MISALIGNED;
        group->fault_lane = lane;
        group->fault_address = address;
        return false;
    }
    bool inside = address >= window->begin && address <= window->end && window->end - address >= bytes;
    if (!inside && !sc_check_address(group, op, window, address, bytes, lane)) return false;
    sc_count(group->worker, window, address, bytes, write);
    sc_touch(group->worker, window, address, bytes, write ? SC_ACCESS_WRITE : SC_ACCESS_READ);
    return true;
}

static uint64_t address_for(const struct warp *warp, const struct sc_op *op, unsigned operand, uint32_t lane)
{
    uint64_t address = get(warp, operand, lane, op->access.address_bytes);
    return op->access.space == SC_SPACE_SHARED ? address + (uint64_t)(uintptr_t)warp->group->shared : address;
}

/* Where in memory the elements of register r begin. Neighbours in the register that are not neighbours in
 * memory are handled one by one, so `e` says which. */
static uint64_t offset_bits(const union sc_matrix *shape, enum sc_element type, uint32_t lane, unsigned r,
                            unsigned e, uint64_t stride)
{
    enum sc_matrix_part part = (enum sc_matrix_part)shape->part;
    struct position at = position_of(shape, part, type, lane, r, e);
    uint64_t element = shape->column ? at.column * stride + at.row : at.row * stride + at.column;
    return element * sc_element_bits(type);
}

static uint64_t stride_for(const struct warp *warp, const union sc_matrix *shape, unsigned operand,
                           uint32_t lane)
{
    if (shape->has_stride) return get(warp, operand, lane, 4);
    unsigned rows = shape->part == SC_MATRIX_B ? shape->k : shape->m;
    unsigned columns = shape->part == SC_MATRIX_A ? shape->k : shape->n;
    return shape->column ? rows : columns;
}

/* Sources: address, stride */
bool sc_run_fragment_load(struct sc_group *group, const struct sc_op *op)
{
    const union sc_matrix shape = {.bits = op->immediate};
    enum sc_element type = (enum sc_element)shape.a;
    unsigned registers = op->access.count, each = elements_of(type), bits = sc_element_bits(type);
    unsigned bytes = bits < 8 ? 1 : bits / 8;
    for (struct warp warp = {.first = UINT32_MAX}; next_warp(&warp, group, op);) {
        for (uint32_t lane = 0; lane < WARP; lane++) {
            uint64_t words[8] = {0};
            if (!(warp.active >> lane & 1)) continue;
            uint64_t base = address_for(&warp, op, registers, lane);
            uint64_t stride = stride_for(&warp, &shape, registers + 1, lane);
            for (unsigned r = 0; r < registers; r++)
                for (unsigned e = 0; e < each; e++) {
                    uint64_t bit = offset_bits(&shape, type, lane, r, e, stride), value = 0;
                    uint64_t address = base + bit / 8;
                    if (!access_for(group, op, address, bytes, bytes, warp.first + lane, false)) return false;
                    memcpy(&value, (const void *)(uintptr_t)address, bytes);
                    if (bits < 8) value = value >> (bit % 8) & ((1u << bits) - 1);
                    words[r] |= value << (e * bits % 64);
                }
            for (unsigned r = 0; r < registers; r++) put(&warp, r, lane, bits == 64 ? 8 : 4, words[r]);
        }
    }
    return true;
}

/* Sources: address, registers, stride. Elements are at least 16 bits wide. */
bool sc_run_fragment_store(struct sc_group *group, const struct sc_op *op)
{
    const union sc_matrix shape = {.bits = op->immediate};
    enum sc_element type = (enum sc_element)shape.a;
    unsigned registers = op->access.count, each = elements_of(type), bits = sc_element_bits(type),
             bytes = bits / 8;
    for (struct warp warp = {.first = UINT32_MAX}; next_warp(&warp, group, op);)
        for (uint32_t lane = 0; lane < WARP; lane++) {
            if (!(warp.active >> lane & 1)) continue;
            uint64_t base = address_for(&warp, op, 0, lane);
            uint64_t stride = stride_for(&warp, &shape, registers + 1, lane);
            for (unsigned r = 0; r < registers; r++)
                for (unsigned e = 0; e < each; e++) {
                    uint64_t address = base + offset_bits(&shape, type, lane, r, e, stride) / 8;
                    uint64_t value = get(&warp, 1 + r, lane, bits == 64 ? 8 : 4) >> (e * bits % 64);
                    if (!access_for(group, op, address, bytes, bytes, warp.first + lane, true)) return false;
                    memcpy((void *)(uintptr_t)address, &value, bytes);
                }
        }
    return true;
}

/* Matrices of 8 x 8 16-bit elements; lane 8 m + i has the address of row i of matrix m. */
static bool move_rows(struct sc_group *group, const struct sc_op *op, bool store)
{
    const union sc_matrix shape = {.bits = op->immediate};
    unsigned matrices = op->access.count, address_operand = store ? 0 : matrices;
    for (struct warp warp = {.first = UINT32_MAX}; next_warp(&warp, group, op);) {
        uint16_t element[4][8][8];
        uint64_t row[4][8];
        for (unsigned i = 0; i < 8 * matrices; i++) {
            uint64_t address = row[i / 8][i % 8] = address_for(&warp, op, address_operand, i);
            if (!access_for(group, op, address, 16, 16, warp.first + i, store)) return false;
            if (!store) memcpy(element[i / 8][i % 8], (const void *)(uintptr_t)address, 16);
        }
        for (unsigned i = 0; i < matrices; i++)
            for (uint32_t lane = 0; lane < WARP; lane++) {
                unsigned y = lane / 4, x = lane % 4 * 2;
                uint16_t *low = shape.column ? &element[i][x][y] : &element[i][y][x];
                uint16_t *high = shape.column ? &element[i][x + 1][y] : &element[i][y][x + 1];
                if (store) {
                    uint32_t word = (uint32_t)get(&warp, 1 + i, lane, 4);
                    *low = (uint16_t)word, *high = (uint16_t)(word >> 16);
                } else {
                    put(&warp, i, lane, 4, *low | (uint32_t)*high << 16);
                }
            }
        for (unsigned i = 0; store && i < 8 * matrices; i++)
            memcpy((void *)(uintptr_t)row[i / 8][i % 8], element[i / 8][i % 8], 16);
    }
    return true;
}

bool sc_run_rows_load(struct sc_group *group, const struct sc_op *op)
{
    return move_rows(group, op, false);
}

bool sc_run_rows_store(struct sc_group *group, const struct sc_op *op)
{
    return move_rows(group, op, true);
}

bool sc_run_transpose(struct sc_group *group, const struct sc_op *op)
{
    for (struct warp warp = {.first = UINT32_MAX}; next_warp(&warp, group, op);) {
        uint16_t element[8][8];
        for (uint32_t lane = 0; lane < WARP; lane++) {
            uint32_t word = (uint32_t)get(&warp, 1, lane, 4);
            element[lane / 4][lane % 4 * 2] = (uint16_t)word;
            element[lane / 4][lane % 4 * 2 + 1] = (uint16_t)(word >> 16);
        }
        for (uint32_t lane = 0; lane < WARP; lane++)
            put(&warp, 0, lane, 4,
                element[lane % 4 * 2][lane / 4] | (uint32_t)element[lane % 4 * 2 + 1][lane / 4] << 16);
    }
    return true;
}
