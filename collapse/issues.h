// SPDX-License-Identifier: BSD-2-Clause
// What of an input could not be understood: counted by kind, the first of each kind kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/profile.h"

namespace memflame {

class Issues {
 public:
  // `why` completes "not understood: …": "no number at its end". `line` 0 = the format has none.
  void add(std::string_view why, size_t line, std::string_view text);

  // Those of another part of the same input, whose lines begin behind `lines_before` others.
  void add(const Issues& later, size_t lines_before);

  bool any() const { return !kinds_.empty(); }
  // "3 lines not understood (no number at its end), the first is line 7: 'main;f'", one a kind;
  // "3 records …" where there are no lines.
  std::vector<std::string> texts() const;

  // Into the profile's losses (Loss::input_line) and notes.
  void finish(Profile& profile) const;

 private:
  struct Kind {
    std::string why;
    uint64_t count = 0;
    size_t first_line = 0;
    std::string excerpt;
  };
  Kind& kind(std::string_view why);

  std::vector<Kind> kinds_;
};

// Whether a note of a profile is one of Issues::texts(), with or without the input's name.
bool tells_of_issue(std::string_view note);

// Whether a note says that the input ends in the middle of something.
bool tells_of_cut(std::string_view note);

}  // namespace memflame
