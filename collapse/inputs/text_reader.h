// SPDX-License-Identifier: BSD-2-Clause
// Shared by the readers of printed stacks: lines in; frames and issues out.
#pragma once

#include <string>
#include <string_view>

#include "collapse/inputs/text_frame.h"
#include "collapse/text/issues.h"
#include "collapse/text/lines.h"
#include "core/error.h"

namespace memflame {

struct TextReader {
  TextReader(Source& source, const ReadOptions& read_options)
      : options(read_options), lines(source) {}

  // Calls take(line) for each line; what it throws is reported with the line's number.
  template <class Take>
  void each_line(const Take& take) {
    while (lines.next()) {
      whole = lines.ended();
      try {
        take(lines.line());
      } catch (const Error& error) {
        lines.fail(error.what());
      }
    }
  }

  void bad(std::string_view why) { issues.add(why, lines.number(), lines.line()); }

  // The frame of a line; `parse(line)` returns the TextFrame of a new one.
  template <class Parse>
  FrameId frame(std::string_view line, const Parse& parse) {
    return frames.get(line,
                      [&](std::string_view text) { return intern(profile, parse(text), options); });
  }

  // The input ends in the middle of a stack. `told` says what became of it.
  void cut_off(const std::string& told) {
    if (options.refuse_truncated) lines.fail("the input ends in the middle of a stack");
    profile.meta.notes.push_back("the input ends in the middle of a stack: " + told);
  }

  // To be called at the end of an input that has a value below each stack. The last stack may lack
  // its value, or `last` may be cut off.
  void end_of_stacks(bool has_open_stack, const std::string& last) {
    if (has_open_stack) {
      bad("a stack without its value");
      cut_off("it has no value and is left out");
    } else if (!whole) {
      cut_off(last + " may be cut off");
    }
  }

  // Refuses an input with nothing usable. `expected`: "stack of … followed by …".
  Profile finish(const std::string& expected) {
    if (profile.touched().empty())
      lines.fail("no " + expected + " in it" + (issues.any() ? "; " + issues.texts().front() : ""));
    issues.finish(profile);
    return std::move(profile);
  }

  const ReadOptions& options;
  Lines lines;
  Profile profile;
  Issues issues;
  FrameLines frames;
  bool whole = true;  // the last line had its line feed
};

}  // namespace memflame
