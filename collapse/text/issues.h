// SPDX-License-Identifier: BSD-2-Clause
// The parts of an input that could not be understood: counted by kind, with the first of each kind.
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

  // Adds the issues of a later part of the same input, which begins behind `lines_before` lines.
  void add(const Issues& later, size_t lines_before);

  bool any() const { return !kinds_.empty(); }
  // "3 lines not understood (no number at its end), the first is line 7: 'main;f'", one per kind;
  // "3 records …" if there are no lines.
  std::vector<std::string> texts() const;

  // Adds them to the profile's losses (Loss::input_line) and notes.
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
