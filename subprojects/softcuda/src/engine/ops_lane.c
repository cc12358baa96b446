/* The loops over lanes for every row of ops.def, built once per instruction set (SC_ISA). */
#include "lane.h"
#include "ops.h"

#define SC_JOIN2(a, b) a##b
#define SC_JOIN(a, b) SC_JOIN2(a, b)

/* A loop body handles one chunk. The compiler vectorises it only if it stays a loop. A destination may be at
 * the place of an operand of the same size, but never overlaps an operand otherwise. */
/* clang-format off */
#define RANGE                                                                                                \
    uint32_t first = (op->flags & SC_FLAG_UNIFORM) ? 0 : group->first_chunk;                                 \
    uint32_t chunks = (op->flags & SC_FLAG_UNIFORM) ? 1 : group->chunks;                                     \
    unsigned char *d = sc_operand(group, op->d, op->stride_d, first)
#define OPERAND(x)                                                                                           \
    const unsigned char *x##_at = sc_operand(group, op->x, op->stride_##x, first);                           \
    const size_t x##_step = (size_t)op->stride_##x * 64
#define EACH_LANE _Pragma("GCC ivdep") _Pragma("GCC unroll 1") for (unsigned i = 0; i < SC_CHUNK; i++)
#define IN(T, x)                                                                                             \
    T x = SC_IN_##T(((const SC_CONTAINER_##T *)x##_at)[i]);                                                  \
    (void)x /* some rows ignore an operand */
#define NEXT(x) x##_at += x##_step

#define ROW1(flops, name, D, A, ...)                                                                         \
    static bool run_##name(struct sc_group *group, const struct sc_op *op)                                   \
    {                                                                                                        \
        RANGE;                                                                                               \
        OPERAND(a);                                                                                          \
        for (; chunks; chunks--) {                                                                           \
            EACH_LANE {                                                                                      \
                IN(A, a);                                                                                    \
                ((SC_CONTAINER_##D *)d)[i] = SC_OUT_##D((D)(__VA_ARGS__));                                   \
            }                                                                                                \
            d += SC_CHUNK * sizeof(SC_CONTAINER_##D);                                                        \
            NEXT(a);                                                                                         \
        }                                                                                                    \
        return true;                                                                                         \
    }
#define ROW2(flops, name, D, A, B, ...)                                                                      \
    static bool run_##name(struct sc_group *group, const struct sc_op *op)                                   \
    {                                                                                                        \
        RANGE;                                                                                               \
        OPERAND(a); OPERAND(b);                                                                              \
        for (; chunks; chunks--) {                                                                           \
            EACH_LANE {                                                                                      \
                IN(A, a); IN(B, b);                                                                          \
                ((SC_CONTAINER_##D *)d)[i] = SC_OUT_##D((D)(__VA_ARGS__));                                   \
            }                                                                                                \
            d += SC_CHUNK * sizeof(SC_CONTAINER_##D);                                                        \
            NEXT(a); NEXT(b);                                                                                \
        }                                                                                                    \
        return true;                                                                                         \
    }
#define ROW3(flops, name, D, A, B, C, ...)                                                                   \
    static bool run_##name(struct sc_group *group, const struct sc_op *op)                                   \
    {                                                                                                        \
        RANGE;                                                                                               \
        OPERAND(a); OPERAND(b); OPERAND(c);                                                                  \
        for (; chunks; chunks--) {                                                                           \
            EACH_LANE {                                                                                      \
                IN(A, a); IN(B, b); IN(C, c);                                                                \
                ((SC_CONTAINER_##D *)d)[i] = SC_OUT_##D((D)(__VA_ARGS__));                                   \
            }                                                                                                \
            d += SC_CHUNK * sizeof(SC_CONTAINER_##D);                                                        \
            NEXT(a); NEXT(b); NEXT(c);                                                                       \
        }                                                                                                    \
        return true;                                                                                         \
    }
#define ROW4(flops, name, D, A, B, C, E, ...)                                                                \
    static bool run_##name(struct sc_group *group, const struct sc_op *op)                                   \
    {                                                                                                        \
        RANGE;                                                                                               \
        OPERAND(a); OPERAND(b); OPERAND(c); OPERAND(e);                                                      \
        for (; chunks; chunks--) {                                                                           \
            EACH_LANE {                                                                                      \
                IN(A, a); IN(B, b); IN(C, c); IN(E, e);                                                      \
                ((SC_CONTAINER_##D *)d)[i] = SC_OUT_##D((D)(__VA_ARGS__));                                   \
            }                                                                                                \
            d += SC_CHUNK * sizeof(SC_CONTAINER_##D);                                                        \
            NEXT(a); NEXT(b); NEXT(c); NEXT(e);                                                              \
        }                                                                                                    \
        return true;                                                                                         \
    }
/* clang-format on */
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
