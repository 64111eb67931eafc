// SPDX-License-Identifier: BSD-2-Clause
// Symbol tables as they are met: aliases, missing sizes, labels inside functions, gaps.
        .text
        .balign 4096
// Several names for one address: the visible one without underscores is the best.
        .globl  __edge_alias, edge_alias, _edge_alias
        .type   __edge_alias, @function
        .type   edge_alias, @function
        .type   _edge_alias, @function
        .type   a_local, @function
__edge_alias:
edge_alias:
_edge_alias:
a_local:
        .fill   32, 1, 0x90
        .size   __edge_alias, 32
        .size   edge_alias, 32
        .size   _edge_alias, 32
        .size   a_local, 32
// A function and a bare label at one address.
        .globl  bare
        .type   real_function, @function
bare:
real_function:
        .fill   32, 1, 0x90
        .size   real_function, 32
// A function around another, and a label inside it.
        .globl  outer, nested
        .type   outer, @function
        .type   nested, @function
outer:
        .fill   16, 1, 0x90
nested:
        .fill   16, 1, 0x90
        .size   nested, 16
inside_label:
        .fill   32, 1, 0x90
        .size   outer, 64
// 64 bytes that belong to nothing: only the first 5 are padding of `odd`.
        .globl  odd
        .type   odd, @function
odd:
        .fill   11, 1, 0x90
        .size   odd, 11
        .fill   5 + 64, 1, 0xcc
// Without sizes: each reaches to the next.
        .globl  unsized_one, unsized_two
        .type   unsized_one, @function
unsized_one:
        .fill   48, 1, 0x90
unsized_two:
        .fill   48, 1, 0x90
        .globl  after
        .type   after, @function
after:
        .fill   16, 1, 0x90
        .size   after, 16
        .section .note.GNU-stack, "", @progbits
