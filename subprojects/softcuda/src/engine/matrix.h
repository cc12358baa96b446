/* Matrix instructions of a warp: how a shape is packed into an instruction, and which matrix element each
 * lane holds in which register.
 *
 * A *fragment* is the part of a matrix that one lane holds, in registers of 32 bits (64 for f64). Its
 * *layout* is the one that PTX documents for mma. PTX documents no layout for wmma, which uses the same:
 * larger shapes are made of several such blocks, and if there are more registers than elements, the elements
 * repeat.
 */
#ifndef SOFTCUDA_ENGINE_MATRIX_H
#define SOFTCUDA_ENGINE_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

enum sc_element {
    SC_ELEMENT_NONE,
    SC_ELEMENT_F16,
    SC_ELEMENT_BF16,
    SC_ELEMENT_TF32,
    SC_ELEMENT_F32,
    SC_ELEMENT_F64,
    SC_ELEMENT_E4M3,
    SC_ELEMENT_E5M2,
    SC_ELEMENT_S8,
    SC_ELEMENT_U8,
    SC_ELEMENT_S4,
    SC_ELEMENT_U4,
    SC_ELEMENT_B1,
    SC_ELEMENT_S32,
    SC_ELEMENT_COUNT
};

enum sc_matrix_part { SC_MATRIX_A, SC_MATRIX_B, SC_MATRIX_C };

/* sc_op.immediate of the matrix instructions */
union sc_matrix {
    struct {
        uint8_t m, n, a, b; /* a, b, c, d: enum sc_element */
        uint8_t c : 4, d : 4;
        uint8_t part : 2;     /* loads and stores: enum sc_matrix_part */
        uint8_t column : 1;   /* loads and stores: the matrix is column-major; ldmatrix: .trans */
        uint8_t saturate : 1; /* integers */
        uint8_t with_and : 1; /* b1: AND instead of XOR */
        uint8_t has_stride : 1;
        uint16_t k;
    };
    int64_t bits;
};
_Static_assert(sizeof(union sc_matrix) == 8, "fits an immediate");

/* Bits of an element in a register and in memory. */
unsigned sc_element_bits(enum sc_element element);

/* Registers of a fragment without repetition; 0 if the shape does not fill a warp's fragments. */
unsigned sc_fragment_registers(const union sc_matrix *shape, enum sc_matrix_part part, enum sc_element type);

struct sc_position {
    unsigned row, column;
};

/* The position in the matrix of element e in register r of a lane. */
struct sc_position sc_position_of(const union sc_matrix *shape, enum sc_matrix_part part,
                                  enum sc_element type, uint32_t lane, unsigned r, unsigned e);

#endif
