/* The loops over lanes for every row of ops.def, built once for each instruction set (SC_ISA). */
#include "lane.h"
#include "ops.h"

#define SC_JOIN2(a, b) a##b
#define SC_JOIN(a, b) SC_JOIN2(a, b)

/* A loop body covers one chunk; the compiler makes it vector code. Operands are read before the result is written,
 * so a destination may be the place of an operand. */
#define LOOP_BEGIN(D)                                                                                        \
    uint32_t first = (op->flags & SC_FLAG_UNIFORM) ? 0 : group->first_chunk;                                 \
    uint32_t chunks = (op->flags & SC_FLAG_UNIFORM) ? 1 : group->chunks;                                     \
    unsigned char *d = sc_operand(group, op->d, op->stride_d, first);
#define OPERAND(x)                                                                                           \
    const unsigned char *x##_at = sc_operand(group, op->x, op->stride_##x, first);                           \
    const size_t x##_step = (size_t)op->stride_##x * 64;
#define LOOP(D)                                                                                              \
    do {                                                                                                     \
        SC_CONTAINER_##D result[SC_CHUNK];                                                                   \
        _Pragma("GCC unroll 16") for (unsigned i = 0; i < SC_CHUNK; i++)                                     \
        {
#define IN(T, x)                                                                                             \
    T x = SC_IN_##T(((const SC_CONTAINER_##T *)x##_at)[i]);                                                  \
    (void)x; /* some rows ignore an operand */
#define LOOP_END(D, ...)                                                                                     \
    result[i] = SC_OUT_##D((D)(__VA_ARGS__));                                                                \
    }                                                                                                        \
    memcpy(d, result, sizeof result);                                                                        \
    d += sizeof result;

#define ROW1(flops, name, D, A, ...)                                                                         \
    static bool run_##name(struct sc_group *group, const struct sc_op *op)                                   \
    {                                                                                                        \
        LOOP_BEGIN(D)                                                                                        \
        OPERAND(a)                                                                                           \
        LOOP(D)                                                                                              \
        IN(A, a)                                                                                             \
        LOOP_END(D, __VA_ARGS__)                                                                             \
        a_at += a_step;                                                                                      \
        } while (--chunks);                                                                                  \
        return true;                                                                                         \
    }
#define ROW2(flops, name, D, A, B, ...)                                                                      \
    static bool run_##name(struct sc_group *group, const struct sc_op *op)                                   \
    {                                                                                                        \
        LOOP_BEGIN(D)                                                                                        \
        OPERAND(a) OPERAND(b)                                                                                \
        LOOP(D)                                                                                              \
        IN(A, a) IN(B, b)                                                                                    \
        LOOP_END(D, __VA_ARGS__)                                                                             \
        a_at += a_step, b_at += b_step;                                                                      \
        } while (--chunks);                                                                                  \
        return true;                                                                                         \
    }
#define ROW3(flops, name, D, A, B, C, ...)                                                                   \
    static bool run_##name(struct sc_group *group, const struct sc_op *op)                                   \
    {                                                                                                        \
        LOOP_BEGIN(D)                                                                                        \
        OPERAND(a) OPERAND(b) OPERAND(c)                                                                     \
        LOOP(D)                                                                                              \
        IN(A, a) IN(B, b) IN(C, c)                                                                           \
        LOOP_END(D, __VA_ARGS__)                                                                             \
        a_at += a_step, b_at += b_step, c_at += c_step;                                                      \
        } while (--chunks);                                                                                  \
        return true;                                                                                         \
    }
#define ROW4(flops, name, D, A, B, C, E, ...)                                                                \
    static bool run_##name(struct sc_group *group, const struct sc_op *op)                                   \
    {                                                                                                        \
        LOOP_BEGIN(D)                                                                                        \
        OPERAND(a) OPERAND(b) OPERAND(c) OPERAND(e)                                                          \
        LOOP(D)                                                                                              \
        IN(A, a) IN(B, b) IN(C, c) IN(E, e)                                                                  \
        LOOP_END(D, __VA_ARGS__)                                                                             \
        a_at += a_step, b_at += b_step, c_at += c_step, e_at += e_step;                                      \
        } while (--chunks);                                                                                  \
        return true;                                                                                         \
    }
#include "ops.def"
#undef ROW1
#undef ROW2
#undef ROW3
#undef ROW4

#define ROW1(flops, name, ...) run_##name,
#define ROW2(flops, name, ...) run_##name,
#define ROW3(flops, name, ...) run_##name,
#define ROW4(flops, name, ...) run_##name,
sc_op_function *const SC_JOIN(sc_lane_functions_, SC_ISA)[SC_OP_LANE_COUNT] = {
#include "ops.def"
};
