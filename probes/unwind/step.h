// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// One step up a stack, from a frame to its caller's, by a row of an unwind table. Plain C: BPF
// programs walk live stacks with it, user space walks copied ones, and tests walk hand-made ones.
//
// Define these before you include it:
//   UNWIND_READ(frame, to, size, address)  copies target memory; 0 if all of it could be read
//   UNWIND_RETURN(frame, slot, value)      the true return address where `value` was read at `slot`
// and u8 … s64 and ALWAYS_INLINE as in bpf/types.h, struct row (row.h) and enum stop
// (bpf/shared.h).
#pragma once

// The state of a walk. The includer's walk begins with it.
struct frame {
  u64 ip, sp, bp;
  u64 bx;       // rbx, or the address where it was saved, as `bx_is` says
  u32 bx_is;    // enum bx_is
  u32 exact;    // ip is the next instruction itself, not the one behind a call
  u32 guessed;  // found by the frame pointer rule: trusted only if it lies in known code
  u32 stop;     // enum stop, once a step has failed
};

// rbx is read only when a row needs it, which is rare.
enum bx_is { bx_value, bx_address, bx_unknown };

enum {
  // The largest frame that is accepted by the frame pointer alone: if rbp is not a frame pointer,
  // it may point anywhere.
  farthest_frame_pointer = 1 << 20,
  // The kernel's frame of a signal handler (arch/x86/include/asm/sigframe.h): when the handler has
  // returned to its restorer, rsp is at the ucontext, whose uc_mcontext.gregs begin at 40.
  // rbp is number 10 of them, then rbx rdx rax rcx rsp rip.
  signal_frame_bp = 40 + 8 * 10,
};

// The address whose row applies. A return address may be the first byte of the next function.
static inline u64 row_address(const struct frame* frame) {
  return frame->ip - (frame->exact ? 0 : 1);
}

// Whether the frame's address is exact rather than a return address. Exact addresses are named as
// they are.
ALWAYS_INLINE int is_exact(const struct frame* frame, struct row row) {
  return frame->exact || row.kind == row_padding;
}

static inline int unwind_signal(struct frame* frame) {
  u64 saved[7];
  if (UNWIND_READ(frame, saved, sizeof(saved), frame->sp + signal_frame_bp)) {
    frame->stop = stop_unreadable;
    return 0;
  }
  frame->bp = saved[0];
  frame->bx = saved[1];
  frame->bx_is = bx_value;
  frame->sp = saved[5];
  frame->ip = saved[6];
  frame->exact = 1;  // interrupted between two instructions
  frame->guessed = 0;
  return 1;
}

// Turns `frame` into its caller's. Returns 0, with `stop` set, if there is no caller or it cannot
// be found.
ALWAYS_INLINE int unwind_step(struct frame* frame, struct row row) {
  u64 cfa = 0, words[2] = {0, 0}, bp = frame->bp;
  u32 rbp = row.rbp, guessed = 0, rbx = row.kind >> 4;
  s64 offset = (s64)(short)row.cfa * 8;
  switch (row.kind & row_kind_mask) {
    case row_rsp:
      cfa = frame->sp + 8 * (u64)row.cfa;
      break;
    case row_rbp:
      cfa = bp + (u64)offset;
      break;
    case row_plt:
      cfa = frame->sp + ((frame->ip & 15) >= row.cfa ? 16 : 8);
      break;
    case row_deref_rsp:
      if (UNWIND_READ(frame, &cfa, sizeof(cfa), frame->sp + (u64)offset)) {
        frame->stop = stop_unreadable;
        return 0;
      }
      cfa += 8;
      break;
    case row_deref_rbp:
      if (UNWIND_READ(frame, &cfa, sizeof(cfa), frame->bp + (u64)offset) ||
          UNWIND_READ(frame, &bp, sizeof(bp), frame->bp)) {
        frame->stop = stop_unreadable;
        return 0;
      }
      rbp = 0;
      break;
    case row_rbx:
      if (frame->bx_is == bx_unknown) {
        frame->stop = stop_bad_row;
        return 0;
      }
      if (frame->bx_is == bx_address) {
        if (UNWIND_READ(frame, &cfa, sizeof(cfa), frame->bx)) {
          frame->stop = stop_unreadable;
          return 0;
        }
      } else {
        cfa = frame->bx;
      }
      cfa += (u64)offset;
      break;
    case row_signal:
      return unwind_signal(frame);
    case row_fp:
      // The x86-64 psABI (3.4.1) marks the outermost frame by rbp = 0.
      if (bp == 0) {
        frame->stop = stop_end;
        return 0;
      }
      if (bp & 7 || bp < frame->sp || bp - frame->sp > farthest_frame_pointer) {
        frame->stop = stop_no_frame_pointer;
        return 0;
      }
      cfa = bp + 16;
      rbp = 2;
      rbx = row_rbx_lost;
      guessed = 1;
      break;
    case row_end:
      frame->stop = stop_end;
      return 0;
    case row_padding:
      frame->stop = frame->exact ? stop_bad_row : stop_end;
      return 0;
    case row_none:
      frame->stop = stop_no_mapping;
      return 0;
    default:
      frame->stop = stop_bad_row;
      return 0;
  }
  if (cfa <= frame->sp || cfa & 7) {
    frame->stop = stop_backwards;
    return 0;
  }
  // The usual pair, saved rbp below the return address, is one read.
  long failed = 0;
  if (rbp == 2) {
    failed = UNWIND_READ(frame, words, sizeof(words), cfa - 16);
    bp = words[0];
  } else {
    failed = UNWIND_READ(frame, &words[1], sizeof(words[1]), cfa - 8);
    if (rbp && !failed) failed = UNWIND_READ(frame, &bp, sizeof(bp), cfa - 8 * (u64)rbp);
  }
  if (failed) {
    frame->stop = stop_unreadable;
    return 0;
  }
  u64 ip = UNWIND_RETURN(frame, cfa - 8, words[1]);
  if (ip == 0) {
    frame->stop = bp == 0 ? stop_end : stop_no_mapping;
    return 0;
  }
  if (rbx == row_rbx_lost) {
    frame->bx_is = bx_unknown;
  } else if (rbx) {
    frame->bx = cfa - 8 * (u64)rbx;
    frame->bx_is = bx_address;
  }
  frame->ip = ip;
  frame->sp = cfa;
  frame->bp = bp;
  frame->exact = 0;
  frame->guessed = guessed;
  return 1;
}
