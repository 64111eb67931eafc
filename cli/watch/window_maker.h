// SPDX-License-Identifier: BSD-2-Clause
// From the figures of a window to windows: names the stacks, and packs a profile for each service.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/watch/window_draft.h"
#include "collapse/symbolize/kept_names.h"
#include "fleet/window.h"

namespace memflame {

class WindowMaker {
 public:
  static constexpr size_t most_shown = 20;  // stacks in a window's head

  // `command`: what is run, for the profiles. Without `names`, code of files has addresses only,
  // for a store that knows their symbols.
  WindowMaker(std::string command, std::string host, bool names)
      : command_(std::move(command)), host_(std::move(host)), names_(names) {}

  // One for each service.
  std::vector<Window> make(WindowDraft draft);

 private:
  Window window_of(const WindowDraft& draft, const DraftService& service);

  std::string command_, host_;
  bool names_;
  KeptNames kept_;
};

}  // namespace memflame
