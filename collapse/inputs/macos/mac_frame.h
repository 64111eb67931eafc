// SPDX-License-Identifier: BSD-2-Clause
// Frames as tools of macOS print them:
//
//   main  (in server) + 164  [0x104582770]  main.c:28    in call trees
//   0x104582770 (server) main  main.c:28                 in stacks of one line, '|' between frames
//   4   server          0x104582770 main + 164  main.c:28  in stacks of several lines
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "collapse/inputs/text_frame.h"

namespace memflame {

struct MacFrame {
  std::string_view function, offset;  // "main" and "164"
  std::string_view module, file, address;
  std::string_view place{};  // offset in the module: "0x1f2c4"
  uint32_t line = 0;
};

// Whatever does not fit is part of the function's name. Views point into the text.
MacFrame parse_tree_frame(std::string_view text);
MacFrame parse_piped_frame(std::string_view text);
std::optional<MacFrame> parse_listed_frame(std::string_view line);  // none if it is not a frame

// Takes the thread off the front of a stack of one line, "thread_a08eb500 |" or
// "[thread 0x10a974380]: |"; returns what tells it from others, "" if there is none.
std::string_view take_piped_thread(std::string_view& text);

// As the options want it. A name that is not in the text is made in `storage`.
TextFrame text_frame(const MacFrame& frame, const ReadOptions& options, std::string& storage);

// The process that a report is about, from "Process:         server [1234]".
struct MacProcess {
  std::string name, pid;

  bool take(std::string_view line);  // false if the line is something else
};

}  // namespace memflame
