// SPDX-License-Identifier: BSD-2-Clause
// Longer than padding between functions could be.
  .text
  .p2align 6
  .globl by_hand_with_frame_pointer
  .type by_hand_with_frame_pointer, @function
by_hand_with_frame_pointer:
  endbr64
  push %rbp
  mov %rsp, %rbp
  sub $64, %rsp
  mov %rdi, -8(%rbp)
  movq $1, -16(%rbp)
  movq $2, -24(%rbp)
  movq $3, -32(%rbp)
  call *-8(%rbp)
  movq $1, -16(%rbp)
  movq $2, -24(%rbp)
  movq $3, -32(%rbp)
  leave
  ret
  .size by_hand_with_frame_pointer, . - by_hand_with_frame_pointer

  .p2align 6
  .globl by_hand_without_anything
  .type by_hand_without_anything, @function
by_hand_without_anything:
  endbr64
  push %rbp
  sub $64, %rsp
  mov $8, %ebp
  movq $1, 48(%rsp)
  movq $2, 40(%rsp)
  movq $3, 32(%rsp)
  call *%rdi
  movq $1, 48(%rsp)
  movq $2, 40(%rsp)
  movq $3, 32(%rsp)
  add $64, %rsp
  pop %rbp
  ret
  .size by_hand_without_anything, . - by_hand_without_anything
  .p2align 6

  .section .note.GNU-stack, "", @progbits
