// SPDX-License-Identifier: BSD-2-Clause
// The terminal as a screen of cells, by ncurses. Only one thread at a time may use it.
//
// However memflame ends, except by SIGKILL, the terminal is as it was before: also when it is
// stopped (Ctrl-Z), and when it crashes.
#pragma once

#include <cstdio>
#include <optional>
#include <string>

#include "cli/screen/terminal_signals.h"
#include "core/unique_fd.h"
#include "render/top/top_layout.h"
#include "render/top/top_model.h"

struct screen;

namespace memflame {

class Terminal {
 public:
  // Takes over the terminal that standard output is. Keys come from it, too. Throws Error if
  // standard output is not a terminal, or is one of an unknown kind.
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool is_utf8() const { return is_utf8_; }
  TopSize size() const;
  void draw(const TopScreenful& screen);

  // Waits until keys or signals come, or `wake` can be read. Ctrl-Z stops memflame meanwhile.
  void wait(int wake);
  std::optional<TopPress> next_key();        // that waits; none if none does
  bool is_gone() const { return is_gone_; }  // nobody is there any more

  // What was written to standard error since the call before. It would disturb the screen, so it
  // is kept until then.
  std::string messages();

 private:
  void take_signals();
  void hide_errors();

  std::optional<TerminalSignals> signals_;
  UniqueFd keys_;
  std::FILE* in_ = nullptr;          // the same for ncurses
  struct screen* screen_ = nullptr;  // ncurses' own
  UniqueFd errors_, kept_;           // standard error itself, and what is in its place
  size_t told_ = 0;                  // bytes of kept_ that messages() has given
  bool is_utf8_ = false, has_colours_ = false, is_gone_ = false, is_stale_ = false;
};

// Throws Error(usage) unless a Terminal can be made here.
void require_terminal();

}  // namespace memflame
