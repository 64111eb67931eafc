// SPDX-License-Identifier: BSD-2-Clause
// Shared by the readers of printed stacks: frames as tracing tools print them, one per line.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "collapse/inputs/readers.h"
#include "collapse/symbolize/text.h"

namespace memflame {

struct TextFrame {
  std::string_view function;
  std::string_view module{};
  std::string_view file{};
  uint32_t line = 0;
  FrameKind kind = FrameKind::user;
};

// Without blanks and tabs at its ends.
std::string_view trimmed(std::string_view text);

// The part before the separator, both removed from `text`; all of it if there is no separator.
std::string_view take_until(std::string_view& text, std::string_view separator);

// "f+12", "f+0x1c" and "f+0xb/0x10" are f; "operator+" has no offset.
std::string_view without_offset(std::string_view name);

// "f.c:12" -> its line, and `text` becomes "f.c"; nothing if it does not end in a number.
std::optional<uint32_t> take_line_number(std::string_view& text);

// The part between the last `open` and the `close` that ends the text, which loses both and the
// blanks before them; nothing if the text does not end in `close`.
std::optional<std::string_view> take_bracketed(std::string_view& text, char open, char close);

bool is_hex(std::string_view digits);                        // one or more, and nothing else
std::optional<uint64_t> hex_address(std::string_view text);  // "0x7f00" or "7f00"

// A whole text that is one integer. Throws Error beyond 64 bits.
std::optional<int64_t> integer(std::string_view text);

// On x86-64 and arm64 the upper half is the kernel's.
inline bool is_kernel_address(uint64_t address) { return address >> 63U != 0; }

// Whether only a kernel has a function of this name: mostly those through which it is entered.
bool is_kernel_entry(std::string_view function);

// The frame in the profile; file and line only when options.lines.
FrameId intern(Profile& profile, const TextFrame& frame, const ReadOptions& options);

// The same frame as code of another kind.
FrameId with_kind(Profile& profile, FrameId frame, FrameKind kind);

// The root frame of a process or thread as the options want it: "bash", "bash-12", "bash-12/13"
// ("bash-13" if the process is unknown), or none. Empty texts mean unknown.
StackId push_process(Profile& profile, std::string_view name, std::string_view pid,
                     std::string_view tid, const ReadOptions& options);

// Pushes frames that are in order from the leaf.
StackId push_leaf_first(Profile& profile, StackId root, std::span<const FrameId> frames);

// The frame of each distinct line, so that a line is parsed once.
class FrameLines {
 public:
  // Calls `parse(line)` for a new line; it returns a FrameId.
  template <class Parse>
  FrameId get(std::string_view line, const Parse& parse) {
    const StringId id = lines_.intern(line);
    if (id.index >= frames_.size()) frames_.resize(lines_.size());
    FrameId& frame = frames_[id.index];
    if (!frame) frame = parse(line);
    return frame;
  }

 private:
  StringTable lines_;
  std::vector<FrameId> frames_;
};

}  // namespace memflame
