// SPDX-License-Identifier: BSD-2-Clause
// What the readers of printed stacks have in common: lines in, frames, what was not understood.
#pragma once

#include <string>
#include <string_view>

#include "collapse/inputs/text_frame.h"
#include "collapse/issues.h"
#include "collapse/lines.h"
#include "core/error.h"

namespace memflame {

struct TextReader {
  TextReader(Source& source, const ReadOptions& read_options)
      : options(read_options), lines(source) {}

  // Calls take(line) for each line; what it throws is told with the line's number.
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

  // The frame of a line; `parse(line)` gives the TextFrame of one that is new.
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

  // Refuses an input of which nothing could be used. `expected`: "stack of … followed by …".
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
