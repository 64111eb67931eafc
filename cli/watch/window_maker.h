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

  // One for each service. Each draft is of a run of its own, always in the same order; what they
  // have of one service is added up. The figures of the window are those of the first. `room`: the
  // bytes of memory that reading names may take.
  std::vector<Window> make(std::vector<WindowDraft> drafts, uint64_t room);

 private:
  struct Part {
    const WindowDraft* draft = nullptr;
    const DraftService* service = nullptr;
  };
  void add_names(WindowDraft& draft, KeptNames& kept, uint64_t room) const;
  static Window window_of(const WindowDraft& first, const std::vector<Part>& parts);

  std::string command_, host_;
  bool names_;
  std::vector<KeptNames> kept_;  // of each run
};

}  // namespace memflame
