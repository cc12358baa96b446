/* wmma.load and .store, ldmatrix, stmatrix, movmatrix, warp by warp. Products are in ops_product.c. */
#include <string.h>

#include "fragment.h"
#include "worker.h"

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

unsigned sc_fragment_registers(const union sc_matrix *shape, enum sc_matrix_part part, enum sc_element type)
{
    unsigned rows = part == SC_MATRIX_B ? shape->k : shape->m,
             columns = part == SC_MATRIX_A ? shape->k : shape->n;
    unsigned each = sc_elements_of(type) * SC_WARP;
    if (part != SC_MATRIX_C && shape->k % (4 * sc_elements_of(type))) return 0; /* lanes share a row of A */
    if (rows * columns > SC_MATRIX_ELEMENTS * (type == SC_ELEMENT_B1 ? 4 : 1) || (rows * columns) % each)
        return 0;
    return rows * columns / each;
}

/* Position of element e of register r of a lane. Blocks of 16 (or 8) rows of A, and of 8 columns of B, are
 * consecutive; C has both. */
struct sc_position sc_position_of(const union sc_matrix *shape, enum sc_matrix_part part,
                                  enum sc_element type, uint32_t lane, unsigned r, unsigned e)
{
    unsigned group = lane / 4, in_group = lane % 4, each = sc_elements_of(type);
    unsigned rows = shape->m % 16 ? 8 : 16; /* per block */
    r %= sc_fragment_registers(shape, part, type);
    if (part == SC_MATRIX_A) {
        unsigned block = rows * shape->k / (SC_WARP * each), inside = r % block;
        unsigned low = rows == 16 ? inside % 2 : 0, right = rows == 16 ? inside / 2 : inside;
        return (struct sc_position){r / block * rows + group + 8 * low,
                                    in_group * each + e + 4 * each * right};
    }
    if (part == SC_MATRIX_B) {
        unsigned block = shape->k * 8 / (SC_WARP * each);
        return (struct sc_position){in_group * each + e + 4 * each * (r % block), r / block * 8 + group};
    }
    unsigned x = r * each + e, block = x / (rows / 4), beside = shape->n / 8u, inside = x % (rows / 4);
    return (struct sc_position){block / beside * rows + group + 8 * (inside / 2),
                                block % beside * 8 + in_group * 2 + inside % 2};
}

/* Checks one lane's access to [address, address + bytes) and counts it. */
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

static uint64_t address_for(const struct sc_warp *warp, const struct sc_op *op, unsigned operand,
                            uint32_t lane)
{
    uint64_t address = sc_fragment_get(warp, operand, lane, op->access.address_bytes);
    return op->access.space == SC_SPACE_SHARED ? address + (uint64_t)(uintptr_t)warp->group->shared : address;
}

/* Offset in memory, in bits, of element e of register r. The elements of a register need not be adjacent in
 * memory. */
static uint64_t offset_bits(const union sc_matrix *shape, enum sc_element type, uint32_t lane, unsigned r,
                            unsigned e, uint64_t stride)
{
    enum sc_matrix_part part = (enum sc_matrix_part)shape->part;
    struct sc_position at = sc_position_of(shape, part, type, lane, r, e);
    uint64_t element = shape->column ? at.column * stride + at.row : at.row * stride + at.column;
    return element * sc_element_bits(type);
}

static uint64_t stride_for(const struct sc_warp *warp, const union sc_matrix *shape, unsigned operand,
                           uint32_t lane)
{
    if (shape->has_stride) return sc_fragment_get(warp, operand, lane, 4);
    unsigned rows = shape->part == SC_MATRIX_B ? shape->k : shape->m;
    unsigned columns = shape->part == SC_MATRIX_A ? shape->k : shape->n;
    return shape->column ? rows : columns;
}

/* Sources: address, stride */
bool sc_run_fragment_load(struct sc_group *group, const struct sc_op *op)
{
    const union sc_matrix shape = {.bits = op->immediate};
    enum sc_element type = (enum sc_element)shape.a;
    unsigned registers = op->access.count, each = sc_elements_of(type), bits = sc_element_bits(type);
    unsigned bytes = bits < 8 ? 1 : bits / 8;
    for (struct sc_warp warp = {.first = UINT32_MAX}; sc_next_warp(&warp, group, op);) {
        for (uint32_t lane = 0; lane < SC_WARP; lane++) {
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
            for (unsigned r = 0; r < registers; r++)
                sc_fragment_put(&warp, r, lane, bits == 64 ? 8 : 4, words[r]);
        }
    }
    return true;
}

/* Sources: address, registers, stride. Elements are at least 16 bits wide. */
bool sc_run_fragment_store(struct sc_group *group, const struct sc_op *op)
{
    const union sc_matrix shape = {.bits = op->immediate};
    enum sc_element type = (enum sc_element)shape.a;
    unsigned registers = op->access.count, each = sc_elements_of(type), bits = sc_element_bits(type),
             bytes = bits / 8;
    for (struct sc_warp warp = {.first = UINT32_MAX}; sc_next_warp(&warp, group, op);)
        for (uint32_t lane = 0; lane < SC_WARP; lane++) {
            if (!(warp.active >> lane & 1)) continue;
            uint64_t base = address_for(&warp, op, 0, lane);
            uint64_t stride = stride_for(&warp, &shape, registers + 1, lane);
            for (unsigned r = 0; r < registers; r++)
                for (unsigned e = 0; e < each; e++) {
                    uint64_t address = base + offset_bits(&shape, type, lane, r, e, stride) / 8;
                    uint64_t value =
                        sc_fragment_get(&warp, 1 + r, lane, bits == 64 ? 8 : 4) >> (e * bits % 64);
                    if (!access_for(group, op, address, bytes, bytes, warp.first + lane, true)) return false;
                    memcpy((void *)(uintptr_t)address, &value, bytes);
                }
        }
    return true;
}

/* Moves matrices of 8 x 8 16-bit elements; lane 8 m + i holds the address of row i of matrix m. */
static bool move_rows(struct sc_group *group, const struct sc_op *op, bool store)
{
    const union sc_matrix shape = {.bits = op->immediate};
    unsigned matrices = op->access.count, address_operand = store ? 0 : matrices;
    for (struct sc_warp warp = {.first = UINT32_MAX}; sc_next_warp(&warp, group, op);) {
        uint16_t element[4][8][8];
        uint64_t row[4][8];
        for (unsigned i = 0; i < 8 * matrices; i++) {
            uint64_t address = row[i / 8][i % 8] = address_for(&warp, op, address_operand, i);
            if (!access_for(group, op, address, 16, 16, warp.first + i, store)) return false;
            if (!store) memcpy(element[i / 8][i % 8], (const void *)(uintptr_t)address, 16);
        }
        for (unsigned i = 0; i < matrices; i++)
            for (uint32_t lane = 0; lane < SC_WARP; lane++) {
                unsigned y = lane / 4, x = lane % 4 * 2;
                uint16_t *low = shape.column ? &element[i][x][y] : &element[i][y][x];
                uint16_t *high = shape.column ? &element[i][x + 1][y] : &element[i][y][x + 1];
                if (store) {
                    uint32_t word = (uint32_t)sc_fragment_get(&warp, 1 + i, lane, 4);
                    *low = (uint16_t)word, *high = (uint16_t)(word >> 16);
                } else {
                    sc_fragment_put(&warp, i, lane, 4, *low | (uint32_t)*high << 16);
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
    for (struct sc_warp warp = {.first = UINT32_MAX}; sc_next_warp(&warp, group, op);) {
        uint16_t element[8][8];
        for (uint32_t lane = 0; lane < SC_WARP; lane++) {
            uint32_t word = (uint32_t)sc_fragment_get(&warp, 1, lane, 4);
            element[lane / 4][lane % 4 * 2] = (uint16_t)word;
            element[lane / 4][lane % 4 * 2 + 1] = (uint16_t)(word >> 16);
        }
        for (uint32_t lane = 0; lane < SC_WARP; lane++)
            sc_fragment_put(&warp, 0, lane, 4,
                            element[lane % 4 * 2][lane / 4] | (uint32_t)element[lane % 4 * 2 + 1][lane / 4]
                                                                  << 16);
    }
    return true;
}
