// SPDX-License-Identifier: BSD-2-Clause
// A function inside an enumeration, as rustc describes methods of an enum.
        .file   1 "/src/enumeration.rs"
        .text
        .globl  overflow
        .type   overflow, @function
overflow:
        .loc    1 88
        mov     %rdi, %rax
        .loc    1 90
        ret
end:
        .size   overflow, . - overflow

        .section .debug_abbrev, "", @progbits
abbreviations:
        .uleb128 1, 0x11        // compile unit, with children
        .byte   1
        .uleb128 0x11, 0x01     // low_pc: address
        .uleb128 0x12, 0x07     // high_pc: 8 bytes, the size
        .uleb128 0x10, 0x17     // stmt_list
        .uleb128 0, 0
        .uleb128 2, 0x04        // enumeration type, with children
        .byte   1
        .uleb128 0x03, 0x08     // name: string
        .uleb128 0, 0
        .uleb128 3, 0x2e        // function
        .byte   0
        .uleb128 0x03, 0x08     // name
        .uleb128 0x11, 0x01
        .uleb128 0x12, 0x07
        .uleb128 0x3b, 0x0b     // declared in line
        .uleb128 0, 0
        .uleb128 0

        .section .debug_info, "", @progbits
        .long   unit_end - unit
unit:
        .short  4
        .long   abbreviations
        .byte   8
        .uleb128 1
        .quad   overflow, end - overflow
        .long   lines
        .uleb128 2
        .string "Number"
        .uleb128 3
        .string "overflow"
        .quad   overflow, end - overflow
        .byte   87
        .uleb128 0              // ends the enumeration
        .uleb128 0              // ends the unit
unit_end:
        .section .debug_line, "", @progbits
lines:
        .section .note.GNU-stack, "", @progbits
