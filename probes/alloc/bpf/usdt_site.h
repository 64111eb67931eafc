// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Where the arguments of a USDT probe are: a probe that a program offers itself. Plain C, for BPF
// and user space.
#pragma once

#include "../../bpf/shared.h"

#ifdef __cplusplus
namespace memflame::bpf {
#endif

enum { max_usdt_sites = 1024, usdt_arguments = 3 };

enum usdt_kind { usdt_constant = 1, usdt_register, usdt_memory };

// Registers are offsets in the kernel's struct pt_regs.
struct usdt_argument {
  s64 value;       // usdt_constant: the constant; usdt_memory: the displacement
  u8 kind;         // enum usdt_kind
  u8 base, index;  // usdt_register: base; usdt_memory: both
  u8 scale;        // of the index; 0 = there is no index
  u8 has_base;     // usdt_memory: the address has a base
  u8 bytes;        // 1, 2, 4 or 8
  u8 is_signed;
  u8 pad;
};

// usdt_sites: the site's number, which is also the cookie of its probe -> usdt_site.
struct usdt_site {
  struct usdt_argument arguments[usdt_arguments];
};

#ifdef __cplusplus
}  // namespace memflame::bpf
#endif
