/* Runs of additions, multiplications and fused multiply-adds in single precision, built once per instruction
 * set (SC_ISA). Most kernels' inner loops consist of them. One call executes a whole run, and the common
 * shapes have loops of constant length. */
#include "lane.h"
#include "ops.h"

#define SC_JOIN2(a, b) a##b
#define SC_JOIN(a, b) SC_JOIN2(a, b)

enum kind { FMA, ADD, SUB, MUL };

#define STEP (SC_CHUNK * sizeof(float))

/* Steps are in bytes, 0 for a uniform operand. For the inner loop see ops_lane.c. */
SC_INLINE void compute(enum kind kind, unsigned char *d, const unsigned char *a, size_t a_step,
                       const unsigned char *b, size_t b_step, const unsigned char *c, size_t c_step,
                       uint32_t chunks)
{
    for (uint32_t k = 0; k < chunks; k++) {
        _Pragma("GCC ivdep") _Pragma("GCC unroll 1") for (unsigned i = 0; i < SC_CHUNK; i++)
        {
            float x = ((const sc_lane_f32 *)a)[i], y = ((const sc_lane_f32 *)b)[i];
            float z = kind == FMA ? ((const sc_lane_f32 *)c)[i] : 0;
            ((sc_lane_f32 *)d)[i] = sc_canonical(kind == FMA   ? sc_fma_f32(x, y, z)
                                                 : kind == ADD ? x + y
                                                 : kind == SUB ? x - y
                                                               : x * y);
        }
        d += STEP, a += a_step, b += b_step, c += c_step;
    }
}

/* op->extra is set if all operands are vectors, which have equal steps. */
SC_INLINE void run(enum kind kind, struct sc_group *group, const struct sc_op *op)
{
    const uint32_t first = group->first_chunk, chunks = group->chunks;
    if (op->extra && (chunks == 8 || chunks == 16)) {
        unsigned char *file = group->file + (size_t)first * STEP;
        unsigned char *d = file + op->d;
        const unsigned char *a = file + op->a, *b = file + op->b, *c = file + op->c;
        compute(kind, d, a, STEP, b, STEP, c, STEP, 8);
        if (chunks == 16)
            compute(kind, d + 8 * STEP, a + 8 * STEP, STEP, b + 8 * STEP, STEP, c + 8 * STEP, STEP, 8);
        return;
    }
    compute(kind, sc_operand(group, op->d, op->stride_d, first),
            sc_operand(group, op->a, op->stride_a, first), op->stride_a * STEP,
            sc_operand(group, op->b, op->stride_b, first), op->stride_b * STEP,
            sc_operand(group, op->c, op->stride_c, first), op->stride_c * STEP, chunks);
}

static bool run_batch(struct sc_group *group, const struct sc_op *head)
{
    const struct sc_op *end = head + head->advance;
    for (const struct sc_op *op = head + 1; op != end; op++) {
        switch (op->code) {
        case SC_OP_fma_f32:
            run(FMA, group, op);
            break;
        case SC_OP_add_f32:
            run(ADD, group, op);
            break;
        case SC_OP_sub_f32:
            run(SUB, group, op);
            break;
        default:
            run(MUL, group, op);
            break;
        }
    }
    return true;
}

sc_op_function *const SC_JOIN(sc_batch_, SC_ISA) = run_batch;
