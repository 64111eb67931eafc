# SPDX-License-Identifier: BSD-2-Clause
# Functions with a nop of five bytes, or of one, which at_NAME is a symbol of. None is called.
#define BEGIN(name) .globl name; .type name, @function; .p2align 4; name: .cfi_startproc
#define END(name) .cfi_endproc; .size name, . - name
#define NOP5(name) .globl at_##name; .type at_##name, @function; at_##name: .byte 0x0f, 0x1f, 0x44, 0, 0; \
        .size at_##name, 5

        .text
# Data is at -8(%rsp).
BEGIN(below)
        mov %rdi, -8(%rsp)
        NOP5(below)
        mov -8(%rsp), %rax
        ret
END(below)

# The same with a nop that stays one.
BEGIN(one_byte)
        mov %rdi, -8(%rsp)
        .globl at_one_byte; .type at_one_byte, @function
at_one_byte:
        nop
        .size at_one_byte, 1
        mov -8(%rsp), %rax
        ret
END(one_byte)

# By the frame pointer, as compilers do without optimisation …
BEGIN(framed)
        push %rbp
        mov %rsp, %rbp
        mov %rdi, -8(%rbp)
        NOP5(framed)
        mov -8(%rbp), %rax
        pop %rbp
        ret
END(framed)

# … but not in a function that calls: its data is above rsp.
BEGIN(calls)
        push %rbp
        mov %rsp, %rbp
        sub $16, %rsp
        mov %rdi, -8(%rbp)
        NOP5(calls)
        call *%rsi
        mov -8(%rbp), %rax
        leave
        ret
END(calls)

# A system call is not a call.
BEGIN(asks_kernel)
        push %rbp
        mov %rsp, %rbp
        mov %rdi, -8(%rbp)
        NOP5(asks_kernel)
        syscall
        mov -8(%rbp), %rax
        pop %rbp
        ret
END(asks_kernel)

# By a copy of rsp.
BEGIN(copied)
        lea -24(%rsp), %rdx
        mov %rdi, (%rdx)
        NOP5(copied)
        mov (%rdx), %rax
        ret
END(copied)

# In its cold part.
BEGIN(split)
        test %rdi, %rdi
        je cold
        NOP5(split)
.Lback: ret
END(split)
        .p2align 4
cold:   .cfi_startproc
        mov %rdi, -8(%rsp)
        mov -8(%rsp), %rax
        jmp .Lback
        .cfi_endproc

# Nothing but registers.
BEGIN(registers)
        lea 1(%rdi), %rax
        NOP5(registers)
        ret
END(registers)

# Its stack pointer is below all data.
BEGIN(moved)
        lea -24(%rsp), %rsp
        mov %rdi, 8(%rsp)
        NOP5(moved)
        mov 8(%rsp), %rax
        add $24, %rsp
        ret
END(moved)

# Code without unwind data may keep anything.
        .globl at_unknown
        .type at_unknown, @function
at_unknown:
        .byte 0x0f, 0x1f, 0x44, 0, 0
        ret
        .size at_unknown, . - at_unknown

        .section .note.GNU-stack, "", @progbits
