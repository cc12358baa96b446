/* The second name of each function, which reaches this library's own, whoever put himself before the first. */
#define BUILT(name)                                                                                          \
    .globl p##name;                                                                                          \
    .type p##name, @function;                                                                                \
    p##name : jmp name;                                                                                      \
    .size p##name, .- p##name;
#define REFUSED BUILT
    .text
#include "functions.def"
    .section .note.GNU-stack, "", @progbits
