// SPDX-License-Identifier: BSD-2-Clause
// Assembly: lines without functions in its debug information.
        .text
        .globl  doubled, forever
        .type   doubled, @function
        .type   forever, @function
doubled:
        mov     %rdi, %rax
        add     %rdi, %rax
        ret
        .size   doubled, . - doubled

forever:
        nop
        nop
        jmp     forever
        .size   forever, . - forever
        .section .note.GNU-stack, "", @progbits
