// SPDX-License-Identifier: BSD-2-Clause
// Functions in assembly without unwind information (no .cfi directives).
#pragma once

extern "C" {

// Calls the function, with a frame pointer of its own.
void by_hand_with_frame_pointer(void (*function)());

// Calls the function with rbp = 8 and a frame without a description: no profiler can find the
// caller, and it must say so.
void by_hand_without_anything(void (*function)());
}
