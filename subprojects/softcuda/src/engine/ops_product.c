/* mma and wmma.mma, warp by warp; built once per instruction set (SC_ISA).
 *
 * Products of 16-bit and narrower numbers, and of tf32, are exact in double. They are summed in double in the
 * order of k, and the sum is rounded once, so the result is at least as exact as the hardware's. Eight
 * columns are computed in parallel. */
#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

#include "fragment.h"
#include "small.h"
#include "worker.h"

#define SC_JOIN2(a, b) a##b
#define SC_JOIN(a, b) SC_JOIN2(a, b)

#define REGISTERS_MAX 32u /* per fragment: a matrix's elements divided by the lanes of a warp */
#define COLUMNS 8u        /* of a block of B and C */
#define M_MAX 32u
#define LANE_ROWS 8u /* rows of a block of A: lane l has elements of row l / 4 */
#define K_MAX (SC_MATRIX_ELEMENTS / LANE_ROWS)

#pragma GCC diagnostic ignored "-Wpsabi" /* functions that pass them are inlined */
typedef double columns __attribute__((vector_size(64), aligned(8), may_alias));

/* Numbers are stored in the order (register, its element, lane). This is their position in a row-major
 * matrix: element e of register r in lane l is at first[r] + l / 4 * group + l % 4 * inner + e * element. */
struct layout {
    unsigned first[REGISTERS_MAX], registers, each, group, inner, element;
};

/* Precomputed from the shape */
struct plan {
    int64_t shape; /* union sc_matrix, 0: none yet */
    struct layout b, c, d;
    unsigned a_registers;
    uint16_t from[M_MAX / LANE_ROWS][K_MAX]; /* for row 0 of a block, by column: index of the number of A */
};

static void lay_out(struct layout *layout, const union sc_matrix *shape, enum sc_matrix_part part,
                    enum sc_element type)
{
    unsigned width = shape->n;
    layout->registers = sc_fragment_registers(shape, part, type);
    layout->each = sc_elements_of(type);
    layout->group = part == SC_MATRIX_B ? 1 : width;
    layout->inner = part == SC_MATRIX_B ? layout->each * width : 2;
    layout->element = part == SC_MATRIX_B ? width : 1;
    for (unsigned r = 0; r < layout->registers; r++) {
        struct sc_position at = sc_position_of(shape, part, type, 0, r, 0);
        layout->first[r] = at.row * width + at.column;
    }
}

static void make_plan(struct plan *plan, const union sc_matrix *shape)
{
    enum sc_element type = (enum sc_element)shape->a;
    unsigned each = sc_elements_of(type);
    lay_out(&plan->b, shape, SC_MATRIX_B, (enum sc_element)shape->b);
    lay_out(&plan->c, shape, SC_MATRIX_C, (enum sc_element)shape->c);
    lay_out(&plan->d, shape, SC_MATRIX_C, (enum sc_element)shape->d);
    plan->a_registers = sc_fragment_registers(shape, SC_MATRIX_A, type);
    plan->shape = shape->bits;
    if (type == SC_ELEMENT_B1) return;
    for (unsigned r = 0; r < plan->a_registers; r++)
        for (unsigned e = 0; e < each; e++)
            for (uint32_t lane = 0; lane < 4; lane++) {
                struct sc_position at = sc_position_of(shape, SC_MATRIX_A, type, lane, r, e);
                plan->from[at.row / LANE_ROWS][at.column] = (uint16_t)((r * each + e) * SC_WARP + lane);
            }
}

#define PLANS 8u /* kept per worker: a kernel has few shapes */

struct sc_product_plans {
    struct plan plans[PLANS];
    unsigned oldest;
};

/* The plan for a shape; computed in `spare` if there is no memory to cache it */
static const struct plan *plan_for(struct sc_worker *worker, const union sc_matrix *shape, struct plan *spare)
{
    if (!worker->product_plans) worker->product_plans = calloc(1, sizeof *worker->product_plans);
    struct sc_product_plans *kept = worker->product_plans;
    for (unsigned i = 0; kept && i < PLANS; i++)
        if (kept->plans[i].shape == shape->bits) return &kept->plans[i];
    struct plan *plan = kept ? &kept->plans[kept->oldest++ % PLANS] : spare;
    make_plan(plan, shape);
    return plan;
}

SC_INLINE double number_of(enum sc_element type, uint64_t bits)
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
    default:
        return (int32_t)low;
    }
}

/* Reads the numbers of `registers` registers, from operand `first` on */
SC_INLINE void read_as(enum sc_element type, unsigned bits, const struct sc_warp *warp, unsigned first,
                       unsigned registers, double *out)
{
    const unsigned each = bits >= 32 ? 1 : 32 / bits;
    for (unsigned r = 0; r < registers; r++) {
        const unsigned char *at = warp->group->file + warp->places[2 * (first + r)];
        uint32_t word[SC_WARP];
        if (bits == 64) {
            for (uint32_t lane = 0; lane < SC_WARP; lane++)
                *out++ = sc_double_of(sc_fragment_get(warp, first + r, lane, 8));
            continue;
        }
        if (warp->places[2 * (first + r) + 1])
            memcpy(word, at + warp->first * sizeof *word, sizeof word);
        else
            for (uint32_t lane = 0; lane < SC_WARP; lane++) word[lane] = *(const sc_lane32 *)(const void *)at;
        for (unsigned e = 0; e < each; e++, out += SC_WARP)
            for (uint32_t lane = 0; lane < SC_WARP; lane++)
                out[lane] = number_of(type, word[lane] >> (e * bits));
    }
}

static void read_numbers(enum sc_element type, const struct sc_warp *warp, unsigned first, unsigned registers,
                         double *out)
{
#define CASE(name, bits)                                                                                     \
    case SC_ELEMENT_##name:                                                                                  \
        read_as(SC_ELEMENT_##name, bits, warp, first, registers, out);                                       \
        break;
    switch (type) {
        CASE(F16, 16)
        CASE(BF16, 16)
        CASE(TF32, 32)
        CASE(F32, 32)
        CASE(F64, 64)
        CASE(E4M3, 8)
        CASE(E5M2, 8)
        CASE(S8, 8)
        CASE(U8, 8)
        CASE(S4, 4)
        CASE(U4, 4)
        CASE(S32, 32)
    default:
        break;
    }
#undef CASE
}

/* Scatters numbers into a matrix, element by element */
static void spread_out(const struct layout *layout, const double *numbers, double *matrix)
{
    for (unsigned r = 0; r < layout->registers; r++)
        for (unsigned e = 0; e < layout->each; e++, numbers += SC_WARP)
            for (uint32_t lane = 0; lane < SC_WARP; lane++)
                matrix[layout->first[r] + e * layout->element + lane / 4 * layout->group +
                       lane % 4 * layout->inner] = numbers[lane];
}

SC_INLINE columns load_columns(const double *from)
{
    return *(const columns *)(const void *)from;
}

SC_INLINE void store_columns(double *to, columns value)
{
    *(columns *)(void *)to = value;
}

/* The same for B, where the numbers of one register element are four groups of eight adjacent ones. */
static void spread_b(const struct layout *layout, const double *numbers, double *matrix)
{
#define ROW(i)                                                                                               \
    store_columns(at + i * layout->inner,                                                                    \
                  __builtin_shufflevector(                                                                   \
                      __builtin_shufflevector(n0, n1, i, i + 4, i + 8, i + 12, i, i + 4, i + 8, i + 12),     \
                      __builtin_shufflevector(n2, n3, i, i + 4, i + 8, i + 12, i, i + 4, i + 8, i + 12), 0,  \
                      1, 2, 3, 8, 9, 10, 11))
    for (unsigned r = 0; r < layout->registers; r++)
        for (unsigned e = 0; e < layout->each; e++, numbers += SC_WARP) {
            double *at = matrix + layout->first[r] + e * layout->element;
            columns n0 = load_columns(numbers), n1 = load_columns(numbers + 8);
            columns n2 = load_columns(numbers + 16), n3 = load_columns(numbers + 24);
            ROW(0);
            ROW(1);
            ROW(2);
            ROW(3);
        }
#undef ROW
}

/* Gathers D's numbers from a matrix: two registers, or the two elements of one, are the even and the odd
 * columns of eight rows. */
static void collect_d(const struct layout *layout, const double *matrix, double *numbers)
{
    for (unsigned r = 0; r < layout->registers; r += layout->each == 1 ? 2 : 1, numbers += 2 * SC_WARP)
        for (unsigned g = 0; g < SC_WARP / 4; g += 2) {
            const double *at = matrix + layout->first[r] + g * layout->group;
            columns upper = load_columns(at), lower = load_columns(at + layout->group);
            store_columns(numbers + 4 * g, __builtin_shufflevector(upper, lower, 0, 2, 4, 6, 8, 10, 12, 14));
            store_columns(numbers + SC_WARP + 4 * g,
                          __builtin_shufflevector(upper, lower, 1, 3, 5, 7, 9, 11, 13, 15));
        }
}

static uint32_t integer_bits(double sum, bool saturate)
{
    if (saturate)
        return sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? (uint32_t)INT32_MIN : (uint32_t)(int32_t)sum;
    return (uint32_t)(int64_t)sum;
}

SC_INLINE uint64_t bits_of_number(enum sc_element type, double sum, bool saturate)
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

SC_INLINE void write_as(enum sc_element type, const struct sc_warp *warp, unsigned registers,
                        const double *numbers, bool saturate)
{
    const unsigned each = type == SC_ELEMENT_F16 ? 2 : 1;
    for (unsigned r = 0; r < registers; r++, numbers += each * SC_WARP) {
        uint32_t word[SC_WARP];
        if (type == SC_ELEMENT_F64) {
            for (uint32_t lane = 0; lane < SC_WARP; lane++)
                sc_fragment_put(warp, r, lane, 8, bits_of_number(type, numbers[lane], false));
            continue;
        }
        for (uint32_t lane = 0; lane < SC_WARP; lane++) {
            word[lane] = (uint32_t)bits_of_number(type, numbers[lane], saturate);
            if (each == 2) word[lane] |= (uint32_t)bits_of_number(type, numbers[lane + SC_WARP], false) << 16;
        }
        if (warp->active == UINT32_MAX)
            memcpy(warp->group->file + warp->places[2 * r] + warp->first * sizeof *word, word, sizeof word);
        else
            for (uint32_t lane = 0; lane < SC_WARP; lane++) sc_fragment_put(warp, r, lane, 4, word[lane]);
    }
}

static void write_numbers(enum sc_element type, const struct sc_warp *warp, unsigned registers,
                          const double *numbers, bool saturate)
{
    if (type == SC_ELEMENT_F16)
        write_as(SC_ELEMENT_F16, warp, registers, numbers, saturate);
    else if (type == SC_ELEMENT_F32)
        write_as(SC_ELEMENT_F32, warp, registers, numbers, saturate);
    else if (type == SC_ELEMENT_F64)
        write_as(SC_ELEMENT_F64, warp, registers, numbers, saturate);
    else
        write_as(SC_ELEMENT_S32, warp, registers, numbers, saturate);
}

/* sum + x * y, where the product is exact */
SC_INLINE columns add_product(columns sum, double x, columns y)
{
#if defined(__AVX512F__)
    return (columns)_mm512_fmadd_pd(_mm512_set1_pd(x), (__m512d)y, (__m512d)sum);
#else
    return sum + x * y;
#endif
}

/* Products are exact, so it makes no difference whether they are fused with the sum. Every m and n is a
 * multiple of eight. `a` has the numbers of A in register order. */
static void multiply(const union sc_matrix *shape, const struct plan *plan, const double *a, const double *b,
                     double *c)
{
    const unsigned k = shape->k, n = shape->n;
    for (unsigned j = 0; j < n; j += COLUMNS)
        for (unsigned i = 0; i < shape->m; i += 4) {
            columns sum0 = {0}, sum1 = {0}, sum2 = {0}, sum3 = {0};
            const uint16_t *from = plan->from[i / LANE_ROWS];
            const double *rows = a + i % LANE_ROWS * 4;
            for (unsigned l = 0; l < k; l++) {
                const columns y = load_columns(b + l * n + j);
                const double *x = rows + from[l];
                sum0 = add_product(sum0, x[0], y);
                sum1 = add_product(sum1, x[4], y);
                sum2 = add_product(sum2, x[8], y);
                sum3 = add_product(sum3, x[12], y);
            }
            store_columns(c + i * n + j, sum0);
            store_columns(c + (i + 1) * n + j, sum1);
            store_columns(c + (i + 2) * n + j, sum2);
            store_columns(c + (i + 3) * n + j, sum3);
        }
}

/* Double precision: fused multiply-adds that start with C. */
static void multiply_fused(const union sc_matrix *shape, const struct plan *plan, const double *a,
                           const double *b, double *c)
{
    for (unsigned i = 0; i < shape->m; i++)
        for (unsigned j = 0; j < shape->n; j += COLUMNS)
            for (unsigned l = 0; l < shape->k; l++) {
                const double x = a[plan->from[i / LANE_ROWS][l] + i % LANE_ROWS * 4];
                for (unsigned y = j; y < j + COLUMNS; y++)
                    c[i * shape->n + y] = __builtin_fma(x, b[l * shape->n + y], c[i * shape->n + y]);
            }
}

/* One-bit elements: the population count of the XOR, or of the AND, of rows and columns */
static void multiply_bits(const struct sc_warp *warp, const union sc_matrix *shape, unsigned a, unsigned b,
                          double *c)
{
    memset(c, 0, sizeof *c * shape->m * shape->n);
    unsigned a_each = shape->k / 128, b_each = a_each, rows = shape->m / 8u;
    for (unsigned i = 0; i < shape->m; i++)
        for (unsigned j = 0; j < shape->n; j++)
            for (unsigned word = 0; word < 4 * a_each; word++) {
                unsigned half = word / 4, lane = word % 4;
                uint32_t x = (uint32_t)sc_fragment_get(warp, a + (i / 8) + rows * half, i % 8 * 4 + lane, 4);
                uint32_t y = (uint32_t)sc_fragment_get(warp, b + j / 8 * b_each + half, j % 8 * 4 + lane, 4);
                c[i * shape->n + j] += __builtin_popcount(shape->with_and ? x & y : x ^ y);
            }
}

static bool run_matrix(struct sc_group *group, const struct sc_op *op)
{
    const union sc_matrix shape = {.bits = op->immediate};
    struct plan spare;
    const struct plan *plan = plan_for(group->worker, &shape, &spare);
    const bool fused = shape.a == SC_ELEMENT_F64, bits = shape.a == SC_ELEMENT_B1;
    const unsigned d = op->access.count, a = op->access.element_bytes, b = op->access.result_bytes;
    double na[SC_MATRIX_ELEMENTS], numbers[SC_MATRIX_ELEMENTS], nc[SC_MATRIX_ELEMENTS],
        nd[SC_MATRIX_ELEMENTS];
    double mb[SC_MATRIX_ELEMENTS], mc[SC_MATRIX_ELEMENTS];
    for (struct sc_warp warp = {.first = UINT32_MAX}; sc_next_warp(&warp, group, op);) {
        read_numbers((enum sc_element)shape.c, &warp, d + a + b, plan->c.registers, nc);
        if (plan->c.each != plan->d.each) { /* reorders nc to the order of D's registers */
            spread_out(&plan->c, nc, mc);
            collect_d(&plan->d, mc, nc);
        }
        if (bits) {
            multiply_bits(&warp, &shape, d, d + a, mc);
        } else {
            read_numbers((enum sc_element)shape.a, &warp, d, plan->a_registers, na);
            read_numbers((enum sc_element)shape.b, &warp, d + a, plan->b.registers, numbers);
            spread_b(&plan->b, numbers, mb);
            if (fused) spread_out(&plan->c, nc, mc);
            if (fused)
                multiply_fused(&shape, plan, na, mb, mc);
            else
                multiply(&shape, plan, na, mb, mc);
        }
        collect_d(&plan->d, mc, nd);
        for (unsigned i = 0; i < shape.m * shape.n && !fused; i++) nd[i] += nc[i];
        write_numbers((enum sc_element)shape.d, &warp, plan->d.registers, nd, shape.saturate);
    }
    return true;
}

sc_op_function *const SC_JOIN(sc_product_, SC_ISA) = run_matrix;
