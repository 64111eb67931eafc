// SPDX-License-Identifier: BSD-2-Clause
	.text
	.globl other
	.type other, @function
other:
	ret
	.section .note.GNU-stack,"",@progbits
