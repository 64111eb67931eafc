// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/eh_frame.h"

#include <unordered_map>

#include "probes/unwind/frame_program.h"

namespace memflame::unwind {
namespace {

// Bytes; real ones have some dozens. In a hostile file each FDE may name a CIE of its own, all of
// them in the same bytes.
constexpr size_t max_cie = 1024;
constexpr uint32_t no_cie = UINT32_MAX;  // a CIE that could not be read

// Reads one entry after another. A CIE is read when the first FDE refers to it: in .debug_frame it
// may come later.
class Reader {
 public:
  Reader(const FrameSection& section, Frames& frames)
      : section_(section), frames_(frames), index_(static_cast<uint32_t>(frames.sections.size())) {
    frames.sections.push_back(section);
  }

  void read() {
    ByteCursor in(section_.bytes);
    while (in.left() >= 4) {
      const Entry entry = next(in);
      if (entry.is_zero && section_.ends_at_zero) return;
      if (!entry.is_zero && !read_entry(entry)) ++frames_.malformed;
    }
  }

 private:
  struct Entry {
    bool is_zero = false, is_cie = false;
    uint64_t offset = 0;              // of the length, in the section
    uint64_t cie = UINT64_MAX;        // of an FDE: the offset of its CIE
    std::span<const std::byte> body;  // after the CIE pointer; empty when malformed
  };

  // An entry that reaches beyond the end of the section fails: what follows cannot be found.
  Entry next(ByteCursor& in) const {
    Entry entry;
    entry.offset = static_cast<uint64_t>(in.at() - section_.bytes.data());
    uint64_t length = in.number<uint32_t>();
    const bool wide = length == UINT32_MAX;
    if (wide) length = in.number<uint64_t>();
    entry.is_zero = length == 0 && !in.failed();
    if (entry.is_zero) return entry;
    ByteCursor rest(in.take(length));
    const auto pointer_at = static_cast<uint64_t>(rest.at() - section_.bytes.data());
    // In .eh_frame the pointer has 4 bytes always, and counts backwards from itself.
    const bool long_pointer = wide && section_.debug;
    const uint64_t pointer = long_pointer ? rest.number<uint64_t>() : rest.number<uint32_t>();
    if (rest.failed()) return entry;
    if (section_.debug) {
      entry.is_cie = pointer == (long_pointer ? UINT64_MAX : UINT32_MAX);
      entry.cie = pointer;
    } else {
      entry.is_cie = pointer == 0;
      entry.cie = pointer_at - pointer;
    }
    entry.body = {rest.at(), rest.left()};
    return entry;
  }

  bool read_entry(const Entry& entry) {
    if (entry.body.empty()) return false;
    if (!entry.is_cie) return read_fde(entry);
    const uint32_t cie = cie_at(entry.offset);
    return cie != no_cie && !frames_.cies[cie].broken;
  }

  uint32_t cie_at(uint64_t offset) {
    if (offset == last_offset_) return last_cie_;
    const auto [known, added] = cies_.try_emplace(offset, no_cie);
    if (added && offset < section_.bytes.size()) known->second = add_cie(offset);
    last_offset_ = offset;
    last_cie_ = known->second;
    return last_cie_;
  }

  uint32_t add_cie(uint64_t offset) {
    ByteCursor in(section_.bytes.subspan(offset));
    const Entry entry = next(in);
    Cie cie;
    cie.section = index_;
    if (!entry.is_cie || entry.body.size() > max_cie || !read_cie(ByteCursor(entry.body), cie))
      return no_cie;
    frames_.cies.push_back(cie);
    return static_cast<uint32_t>(frames_.cies.size() - 1);
  }

  bool read_cie(ByteCursor in, Cie& cie) const {
    if (!read_cie_head(in, section_, cie)) return false;
    if (!run_initial(cie, section_, in, cie.initial)) cie.broken = true;
    return true;
  }

  bool read_fde(const Entry& entry) {
    Fde fde;
    fde.cie = cie_at(entry.cie);
    if (fde.cie == no_cie) return false;
    const Cie& cie = frames_.cies[fde.cie];
    ByteCursor in(entry.body);
    fde.start = read_pointer(in, cie.encoding, section_);
    fde.size = read_encoded(in, cie.encoding);
    if (in.failed() || fde.size > UINT32_MAX) return false;
    if (cie.augmented) in.take(in.uleb());
    fde.broken = in.failed();
    fde.program = {in.at(), in.left()};
    frames_.fdes.push_back(fde);
    return true;
  }

  const FrameSection section_;
  Frames& frames_;
  const uint32_t index_;
  std::unordered_map<uint64_t, uint32_t> cies_;  // by offset
  uint64_t last_offset_ = UINT64_MAX;
  uint32_t last_cie_ = no_cie;
};

}  // namespace

void read_frames(const FrameSection& section, Frames& frames) { Reader(section, frames).read(); }

}  // namespace memflame::unwind
