// SPDX-License-Identifier: BSD-2-Clause
// What sites need before their first round.
#pragma once

#include <csignal>

namespace chain {

void prepare_signals();
void prepare_ticks();

// Installs a handler, or ends the program.
void handle(int signal, void (*handler)(int), int flags);
void handle(int signal, void (*handler)(int, siginfo_t*, void*), int flags);

}  // namespace chain
