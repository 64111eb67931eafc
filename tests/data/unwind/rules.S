// SPDX-License-Identifier: BSD-2-Clause
// Code with one row kind after the other, at fixed offsets from `begin`, which table_fixture.cc
// and unwind_table_test.cc know. It is read, not run.
//   -DDEBUG_FRAME   .debug_frame, no .eh_frame
//   -DBOTH_FRAMES  both
//   -DBARE_START    nothing is said about the entry point
#ifdef DEBUG_FRAME
	.cfi_sections .debug_frame
#endif
#ifdef BOTH_FRAMES
	.cfi_sections .eh_frame, .debug_frame
#endif
	.text
	.p2align 6
	.globl begin, _start
	.type begin, @function
begin:			// 0: a gap
	.skip 32, 0x90

	.cfi_startproc	// 32: pushes rbp, leaves early, goes on
	.skip 4, 0x90
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	.skip 4, 0x90
	.cfi_def_cfa_register rbp
	.skip 4, 0x90
	.cfi_remember_state
	.cfi_def_cfa rsp, 8
	.cfi_restore rbp
	.skip 4, 0x90
	.cfi_restore_state
	.skip 4, 0x90
	.cfi_endproc
	.skip 12, 0x90	// 52: padding

	.cfi_startproc	// 64: calls through the linkage table, from a large frame
	call other@PLT
	.cfi_def_cfa_offset 0x7fff8
	.skip 3, 0x90
	.cfi_def_cfa_offset 0x80000	// one more than a row can hold
	.skip 8, 0x90
	.cfi_def_cfa_offset 20		// no multiple of 8
	.skip 8, 0x90
	.cfi_endproc
	.skip 8, 0x90

	.cfi_startproc	// 96: CFA = *(rsp + 24) + 8: DW_OP_breg7 24, deref, plus_uconst 8
	.cfi_escape 0x0f, 5, 0x77, 24, 0x06, 0x23, 8
	.cfi_offset rbp, -24
	.skip 16, 0x90
	.cfi_endproc

	.cfi_startproc	// 112: the stack realigned by gcc
	.skip 4, 0x90
	.cfi_def_cfa r10, 0
	.skip 4, 0x90
	.cfi_escape 0x10, 6, 2, 0x76, 0	// rbp at rbp
	.skip 4, 0x90
	.cfi_escape 0x0f, 3, 0x76, 0x78, 0x06	// CFA = *(rbp - 8)
	.skip 4, 0x90
	.cfi_endproc

	// One byte before the code, as where a call would be.
	.cfi_startproc	// 128: the return from a signal handler
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06	// CFA = *(rsp + 160)
	.cfi_escape 0x10, 16, 3, 0x77, 0xa8, 0x01	// rip at rsp + 168
	.cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0x00	// rbp at rsp + 120
	.skip 16, 0x90
	.cfi_endproc

	.cfi_startproc	// 144: a thread begins
	.cfi_undefined rip
	.skip 16, 0x90
	.cfi_endproc

	.skip 24, 0x90	// 160: a gap with a restorer at 184, and code after it
	mov $15, %rax
	syscall
	.skip 31, 0x90

	.type _start, @function
_start:			// 224
#ifdef BARE_START
	.skip 96, 0x90
#else
	.cfi_startproc
	.cfi_undefined rip
	.skip 96, 0x90
	.cfi_endproc
#endif
	.cfi_startproc	// 320
	.skip 16, 0x90
	.cfi_endproc

	.cfi_startproc	// 336: saves rbx, and finds its frame by it
	.skip 4, 0x90
	.cfi_def_cfa_offset 16
	.cfi_offset rbx, -16
	.skip 4, 0x90
	.cfi_def_cfa rbx, 24
	.skip 4, 0x90
	.cfi_offset rbx, -120	// farther than a row can say
	.skip 4, 0x90
	.cfi_def_cfa rsp, 8
	.cfi_restore rbx
	.skip 4, 0x90
	.cfi_undefined rbx
	.skip 4, 0x90
	.cfi_def_cfa rbx, -8
	.cfi_same_value rbx
	.skip 8, 0x90
	.cfi_endproc

	.byte 0x0f, 0x1f, 0x40, 0, 0x90	// 368: gaps: padding to no multiple of 16,
	.cfi_startproc			// 373
	.skip 7, 0x90
	.cfi_endproc
	syscall				// 380: code that begins within a function,
	ret
	.cfi_startproc			// 383
	.skip 1, 0x90
	.cfi_endproc
	.skip 48, 0xcc			// 384: large padding,
	.cfi_startproc			// 432
	.skip 16, 0x90
	.cfi_endproc
	.skip 15, 0x90			// 448: padding and code
	ret
	.cfi_startproc			// 464
	.skip 16, 0x90
	.cfi_endproc
	.size begin, . - begin		// 480
	.section .note.GNU-stack,"",@progbits
