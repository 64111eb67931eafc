// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A row of an unwind table: how to find the caller's frame from one instruction on, up to the next
// row. Plain C, for BPF programs, user space and the cache on disk.
//
// x86-64: the CFA ("canonical frame address", DWARF 5 section 6.4) is what rsp was before the call
// instruction; the return address lies right below it, at CFA-8, in every row but signal frames. A
// walk follows rip, rsp and rbp from frame to frame, and the place where rbx was saved. Compiled
// code needs no other register to find a caller; only the dynamic linker's resolver needs rbx.
#pragma once

#ifdef __cplusplus
#include <cstdint>
namespace memflame::unwind {
using row_u32 = uint32_t;
using row_u16 = uint16_t;
using row_u8 = uint8_t;
#else
#include <linux/types.h>
typedef __u32 row_u32;
typedef __u16 row_u16;
typedef __u8 row_u8;
#endif

enum row_kind {
  row_none = 0,  // no row: the address lies in no known code
  row_rsp,       // CFA = rsp + 8 * cfa
  row_rbp,       // CFA = rbp + 8 * (signed)cfa
  row_plt,       // CFA = rsp + 8 + ((rip & 15) >= cfa ? 8 : 0): a linkage table entry pushes a word
  row_deref_rsp,  // CFA = *(rsp + 8 * (signed)cfa) + 8
  row_deref_rbp,  // CFA = *(rbp + 8 * (signed)cfa), and the saved rbp is *rbp (stack realigned by
                  // gcc)
  row_signal,     // signal frame: all registers from the ucontext above rsp
  row_end,        // the outermost frame: there is no return address
  row_fp,         // no information: assume a frame pointer, CFA = rbp + 16, under conditions
  row_bad,        // information that does not fit in a row
  row_rbx,        // CFA = rbx + 8 * (signed)cfa
  // Alignment between functions. A return address in it did not come from a call: the stack was
  // made by hand (makecontext) and begins here.
  row_padding,
  row_kind_mask = 15,
};

// Where the caller's rbx is, in the upper half of row::kind.
enum row_rbx_slot {
  row_rbx_unchanged = 0,
  // 1 to 14: at CFA - 8 * n
  row_rbx_lost = 15,
};

struct row {
  row_u32 pc;   // first instruction, as an offset from the table's base
  row_u16 cfa;  // offset, in units that depend on the kind
  row_u8 kind;  // enum row_kind | enum row_rbx_slot << 4
  row_u8 rbp;   // caller's rbp is at CFA - 8 * rbp; 0 = unchanged
};

#ifdef __cplusplus
}  // namespace memflame::unwind
#endif
