// SPDX-License-Identifier: BSD-2-Clause
// What C libraries put into .init and .fini, and calls through each linkage table that there is.
// It is read, not run.
	.section .init,"ax",@progbits
	.globl _init, _fini
	.type _init, @function
_init:
	sub $8, %rsp			// 0
	mov __gmon_start__@GOTPCREL(%rip), %rax
	test %rax, %rax
	je 1f
	call *%rax
1:	call other@PLT
	add $8, %rsp			// 23
	ret				// 27
	.weak __gmon_start__

	.section .fini,"ax",@progbits
	.type _fini, @function
_fini:
	endbr64				// 0
	sub $8, %rsp
	call other@PLT			// 8
	add $8, %rsp
	ret				// 17

	.text
	.cfi_startproc
	call other@PLT
	call another@PLT
	mov in_got@GOTPCREL(%rip), %rax	// so a call of it needs no lazy entry
	call in_got@PLT
	.cfi_endproc
	.section .note.GNU-stack,"",@progbits
