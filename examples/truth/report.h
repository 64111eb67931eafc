// SPDX-License-Identifier: BSD-2-Clause
// A ground-truth program's own figures: exact, per function, as JSON on standard output. Nothing
// here allocates, maps or grows anything, so that the figures stay those of the program; therefore
// it uses no std::map and no ostream.
#pragma once

#include <cstdint>

namespace truth {

// Handles `--wait`: prints "ready PID" and waits for a line, so that a profiler can attach before
// the work begins. Without it the work begins at once. Touches all of the program's memory first,
// so that the first call of a function does not fault.
void begin(int argc, char** argv);

// States that `column` of `name` in `section` is `value`; a second statement adds to the first.
// The strings are kept, not copied.
void state(const char* section, const char* name, const char* column, int64_t value);

// States what the stacks look like whose innermost function of the program is `leaf`: its callers,
// innermost first, separated by semicolons. Besides names there are patterns, see
// tests/e2e/chains.py. Printed as section "chains". The strings are kept, not copied.
void chain(const char* leaf, const char* callers);

// Prints everything stated; with `--wait` then says "done" and waits for another line, so that a
// test can compare with /proc while the process is still there. Returns the exit status.
int end();

[[noreturn]] void fail(const char* what);  // a step did not behave as the figures assume

}  // namespace truth
