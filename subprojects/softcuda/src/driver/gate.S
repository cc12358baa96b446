/* The exported functions: each looks at one byte and goes on to its implementation (gate.h), or asks fault.c
 * first. Arguments stay where they are. No function that is built takes a floating point argument. */
#ifndef __x86_64__
#error "the gate is written for x86-64"
#endif

    .text
    .hidden sc_gate_guarded
    .hidden sc_gate_decide
    .set sc_row, 0

#define SC_API(name, symbol, version, streams)                                                               \
    .hidden sc_do_##symbol;                                                                                  \
    .globl symbol;                                                                                           \
    .type symbol, @function;                                                                                 \
    .p2align 4;                                                                                              \
symbol:                                                                                                      \
    .cfi_startproc;                                                                                          \
    endbr64;                                                                                                 \
    cmpb $0, sc_gate_guarded(%rip);                                                                          \
    jne 1f;                                                                                                  \
    jmp sc_do_##symbol;                                                                                      \
1:  leaq sc_do_##symbol(%rip), %r11;                                                                         \
    movl $sc_row, %eax;                                                                                      \
    jmp ask;                                                                                                 \
    .cfi_endproc;                                                                                            \
    .size symbol, . - symbol;                                                                                \
    .set sc_row, sc_row + 1;

#include "api_built.def"
#include "api_refused.def"

/* %eax: the row of the table; %r11: where to go. Returns the error to the caller instead if there is one. */
    .type ask, @function
ask:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    pushq %rdi
    pushq %rsi
    pushq %rdx
    pushq %rcx
    pushq %r8
    pushq %r9
    pushq %r11
    subq $8, %rsp
    movl %eax, %edi
    call sc_gate_decide
    addq $8, %rsp
    popq %r11
    popq %r9
    popq %r8
    popq %rcx
    popq %rdx
    popq %rsi
    popq %rdi
    popq %rbp
    .cfi_def_cfa %rsp, 8
    testl %eax, %eax
    jne 2f
    jmp *%r11
2:  ret
    .cfi_endproc
    .size ask, . - ask

    .section .note.GNU-stack, "", @progbits
