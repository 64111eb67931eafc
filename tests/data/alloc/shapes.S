// SPDX-License-Identifier: BSD-2-Clause
# Functions with the names of an allocator's, of which each has one shape that matters for where it
# is probed. None is called.
#
#   NO_FRAMES    without unwind data: parts that have no symbol cannot be found
#   NO_MALLOC    operator new and delete only

#ifdef NO_FRAMES
#define PROC
#define ENDPROC
#else
#define PROC .cfi_startproc
#define ENDPROC .cfi_endproc
#endif
#define BEGIN(name) .globl name; .type name, @function; .p2align 4; name: PROC
#define END(name) ENDPROC; .size name, . - name

        .text
#ifndef NO_MALLOC
BEGIN(malloc)
        push %rbx
        xor %eax, %eax
        pop %rbx
        ret
END(malloc)

BEGIN(free)
        test %rdi, %rdi
        je 1f
        nop
1:      ret
END(free)

# Without a size, which the unwind data have.
        .globl calloc
        .type calloc, @function
        .p2align 4
calloc: PROC
        test %rdi, %rdi
        jne 1f
        xor %eax, %eax
1:      ret
        ENDPROC

# The site that it would have is jumped to from its cold part.
BEGIN(realloc)
        test %rsi, %rsi
.Lsite: je cold
        xor %eax, %eax
        ret
END(realloc)
        .p2align 4
cold:   PROC
        xor %esi, %esi
        jmp .Lsite
        ENDPROC

# One function with two names.
BEGIN(aligned_alloc)
        .globl memalign
        .type memalign, @function
        .set memalign, aligned_alloc
        push %rbx
        pop %rbx
        ret
        .size memalign, . - memalign
END(aligned_alloc)

# All that gives a block goes through aligned_alloc.
BEGIN(posix_memalign)
        push %rbx
        mov %rdi, %rbx
        mov %rsi, %rdi
        mov %rdx, %rsi
        call aligned_alloc@PLT
        mov %rax, (%rbx)
        pop %rbx
        ret
END(posix_memalign)

# Here only one of two ways does.
BEGIN(valloc)
        cmp $64, %rdi
        jb 1f
        jmp aligned_alloc@PLT
1:      xor %eax, %eax
        ret
END(valloc)

BEGIN(_Znam)
        jmp _Znwm@PLT
END(_Znam)

BEGIN(_ZdlPv)
        jmp free@PLT
END(_ZdlPv)

BEGIN(_ZdlPvm)
        test %rdi, %rdi
        je 1f
        jmp free@PLT
1:      ret
END(_ZdlPvm)

# No exit of it can be watched.
BEGIN(_ZnwmSt11align_val_t)
        mov (%rdi), %rax
        jmp *%rax
END(_ZnwmSt11align_val_t)

# One of two can.
BEGIN(_ZnamSt11align_val_t)
        test %rdi, %rdi
        je 1f
        mov %rsi, %rax
        jmp *%rax
1:      ret
END(_ZnamSt11align_val_t)

# May throw, because of what it ends in.
BEGIN(_ZnamRKSt9nothrow_t)
        test %rdi, %rdi
        je 1f
        jmp _Znwm@PLT
1:      ret
END(_ZnamRKSt9nothrow_t)
#else
BEGIN(_ZdlPv)
        test %rdi, %rdi
        je 1f
        nop
1:      ret
END(_ZdlPv)
#endif

# A way to its end is in another function, which has no symbol.
BEGIN(_Znwm)
        test %rdi, %rdi
        je 1f
        mov %rdi, %rax
        ret
1:      jmp slow
END(_Znwm)
        .p2align 4
slow:   PROC
        push %rbx
        test %rdi, %rdi
        je 1f
        pop %rbx
        ret
1:      pop %rbx
        ret
        ENDPROC

        .section .note.GNU-stack, "", @progbits
