// Readers of other formats: text in, Profile out. Each has its file in collapse/inputs/.
#pragma once

#include <istream>
#include <optional>
#include <string>

#include "core/profile.h"

namespace memflame {

struct ReadOptions {
  std::string name = "standard input";  // for messages
  // What the numbers are, where the text does not say it; "count" when not given.
  std::optional<ValueType> type{};
};

// Folded text (core/folded.h) of memflame or any other tool. Takes TAB for the blank, CRLF, a UTF-8
// byte order mark, blank lines, and any bytes in names. Equal stacks are added up; several texts
// may follow each other if they are in one unit. A line without an integer at its end is counted
// (Loss::input_line), and the first of them is kept as a note. Throws Error when nothing can be
// read, when texts do not belong together, and when a number or a sum leaves 64 bits.
Profile read_folded(std::istream& in, const ReadOptions& options = {});

}  // namespace memflame
