/* dlsym and dlvsym, in both of glibc's symbol versions.
 *
 * The C library's own functions identify their caller by the return address, because RTLD_NEXT and RTLD_DEFAULT
 * depend on the caller. Names other than `cu` + capital letter or `nccl`, and look-ups that sl_resolve declines,
 * therefore reach the real function by a jump, with registers and return address unchanged.
 *
 * sl_next_lookup[] holds the real functions: dlsym and dlvsym in the base version, then in GLIBC_2.34. */
#if defined(__x86_64__)
#define BASE GLIBC_2.2.5

    .macro lookup entry, slot, versioned
    .globl \entry
    .hidden \entry
    .type \entry, @function
    .p2align 4
\entry:
    .cfi_startproc
    endbr64
    cmpq $0, \slot*8+sl_next_lookup(%rip)
    je 3f
1:  testq %rsi, %rsi
    je 2f
    cmpb $'n', (%rsi)
    je 5f
    cmpb $'c', (%rsi)
    jne 2f
    cmpb $'u', 1(%rsi)
    jne 2f
    movzbl 2(%rsi), %eax
    subl $'A', %eax
    cmpl $25, %eax
    jbe 4f
2:  jmpq *\slot*8+sl_next_lookup(%rip)

    /* Reads byte by byte, because the name may end at the end of a page. */
5:  cmpb $'c', 1(%rsi)
    jne 2b
    cmpb $'c', 2(%rsi)
    jne 2b
    cmpb $'l', 3(%rsi)
    jne 2b
    jmp 4f

    /* Runs before our constructor. */
3:  pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    pushq %rdx
    .cfi_adjust_cfa_offset 8
    call sl_bind_lookup
    popq %rdx
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    jmp 1b

    /* sl_resolve(handle, name, version or NULL, caller, &result) */
4:  pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    pushq %rdx
    .cfi_adjust_cfa_offset 8
    subq $16, %rsp
    .cfi_adjust_cfa_offset 16
    .if \versioned == 0
    xorl %edx, %edx
    .endif
    movq 40(%rsp), %rcx
    movq %rsp, %r8
    call sl_resolve
    movl %eax, %ecx
    movq (%rsp), %rax
    addq $16, %rsp
    .cfi_adjust_cfa_offset -16
    popq %rdx
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    testb %cl, %cl
    je 2b
    ret
    .cfi_endproc
    .size \entry, . - \entry
    .endm

#elif defined(__aarch64__)
#define BASE GLIBC_2.17

    .macro lookup entry, slot, versioned
    .globl \entry
    .hidden \entry
    .type \entry, %function
    .p2align 4
\entry:
    .cfi_startproc
    hint #34
    adrp x16, sl_next_lookup
    add x16, x16, :lo12:sl_next_lookup
    ldr x16, [x16, #\slot*8]
    cbz x16, 3f
1:  cbz x1, 2f
    ldrb w17, [x1]
    cmp w17, #'n'
    b.eq 5f
    cmp w17, #'c'
    b.ne 2f
    ldrb w17, [x1, #1]
    cmp w17, #'u'
    b.ne 2f
    ldrb w17, [x1, #2]
    sub w17, w17, #'A'
    cmp w17, #25
    b.ls 4f
2:  br x16

    /* Reads byte by byte, because the name may end at the end of a page. */
5:  ldrb w17, [x1, #1]
    cmp w17, #'c'
    b.ne 2b
    ldrb w17, [x1, #2]
    cmp w17, #'c'
    b.ne 2b
    ldrb w17, [x1, #3]
    cmp w17, #'l'
    b.ne 2b
    b 4f

    /* Runs before our constructor. */
3:  stp x29, x30, [sp, #-48]!
    stp x0, x1, [sp, #16]
    str x2, [sp, #32]
    bl sl_bind_lookup
    ldr x2, [sp, #32]
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #48
    adrp x16, sl_next_lookup
    add x16, x16, :lo12:sl_next_lookup
    ldr x16, [x16, #\slot*8]
    b 1b

    /* sl_resolve(handle, name, version or NULL, caller, &result) */
4:  stp x29, x30, [sp, #-64]!
    stp x0, x1, [sp, #16]
    stp x2, x16, [sp, #32]
    .if \versioned == 0
    mov x2, #0
    .endif
    mov x3, x30
    add x4, sp, #48
    bl sl_resolve
    mov w17, w0
    ldp x2, x16, [sp, #32]
    ldp x0, x1, [sp, #16]
    tst w17, #0xff
    ldr x17, [sp, #48]
    ldp x29, x30, [sp], #64
    b.eq 2b
    mov x0, x17
    ret
    .cfi_endproc
    .size \entry, . - \entry
    .endm

#else
#error "dlsym needs its tail jump written for this processor"
#endif

    .text
    lookup sl_dlsym_base, 0, 0
    lookup sl_dlvsym_base, 1, 1
    lookup sl_dlsym_234, 2, 0
    lookup sl_dlvsym_234, 3, 1

    .macro exported entry, name, version:vararg
    .globl \entry\()_export
    .type \entry\()_export, %function
    .set \entry\()_export, \entry
    .symver \entry\()_export, \name\version
    .endm

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
    exported sl_dlsym_base, dlsym, JOIN(@, BASE)
    exported sl_dlvsym_base, dlvsym, JOIN(@, BASE)
    exported sl_dlsym_234, dlsym, @@GLIBC_2.34
    exported sl_dlvsym_234, dlvsym, @@GLIBC_2.34

    .section .note.GNU-stack, "", %progbits
