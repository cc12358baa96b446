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

/* %eax: the row of the table; %r11: where to go. sc_gate_decide returns struct sc_fault: the error in %eax,
 * and in the upper half of %rax whether the function is called all the same. Then its arguments on the stack
 * are copied: no function has more than STACK_WORDS of them. */
    .set STACK_WORDS, 10
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
    movq 8(%rbp), %rsi
    call sc_gate_decide
    addq $8, %rsp
    popq %r11
    popq %r9
    popq %r8
    popq %rcx
    popq %rdx
    popq %rsi
    popq %rdi
    btq $32, %rax
    jc 3f
    .cfi_remember_state
    popq %rbp
    .cfi_def_cfa %rsp, 8
    testl %eax, %eax
    jne 2f
    jmp *%r11
2:  ret
    .cfi_restore_state
3:  pushq %rax
    subq $8, %rsp
    .set sc_word, STACK_WORDS
    .rept STACK_WORDS
    .set sc_word, sc_word - 1
    pushq 16 + 8 * sc_word(%rbp)
    .endr
    call *%r11
    movl -8(%rbp), %eax
    leave
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size ask, . - ask

    .section .note.GNU-stack, "", @progbits
