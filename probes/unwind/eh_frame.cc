// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/eh_frame.h"

#include <dwarf.h>

#include <string_view>
#include <unordered_map>

#include "probes/unwind/frame_program.h"

namespace memflame::unwind {
namespace {

constexpr uint64_t indirect = 0x80;  // DW_EH_PE_indirect
// Bytes; real ones have some dozens. FDEs of a hostile file may name as many CIEs as it has FDEs,
// all of them in the same bytes.
constexpr size_t max_cie = 1024;
constexpr uint32_t no_cie = UINT32_MAX;  // a CIE that could not be read

uint64_t position(const ByteCursor& in, const FrameSection& section) {
  return section.address + static_cast<uint64_t>(in.at() - section.bytes.data());
}

uint64_t encoded_number(ByteCursor& in, uint8_t encoding) {
  switch (encoding & 0x0f) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
      return in.number<uint64_t>();
    case DW_EH_PE_udata2:
      return in.number<uint16_t>();
    case DW_EH_PE_udata4:
      return in.number<uint32_t>();
    case DW_EH_PE_sdata2:
      return static_cast<uint64_t>(int64_t{in.number<int16_t>()});
    case DW_EH_PE_sdata4:
      return static_cast<uint64_t>(int64_t{in.number<int32_t>()});
    case DW_EH_PE_uleb128:
      return in.uleb();
    case DW_EH_PE_sleb128:
      return static_cast<uint64_t>(in.sleb());
    default:
      in.fail();
      return 0;
  }
}

// Reads entry after entry. CIEs are read when an FDE asks for one first: in .debug_frame they may
// come after it.
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
    const uint8_t version = in.byte();
    if (version != 1 && version != 3 && version != 4) return false;
    const auto text = in.string();
    std::string_view augmentation(reinterpret_cast<const char*>(text.data()), text.size());
    if (augmentation == "eh") {
      in.number<uint64_t>();  // gcc 2: a pointer to its exception table
      augmentation = {};
    }
    if (version == 4 && (in.byte() != 8 || in.byte() != 0)) return false;  // address, segment size
    cie.code_align = in.uleb();
    cie.data_align = in.sleb();
    cie.return_register = version == 1 ? in.byte() : in.uleb();
    cie.augmented = augmentation.starts_with('z');
    ByteCursor data({});  // without 'z', only letters that have no data are understood
    if (cie.augmented) {
      augmentation.remove_prefix(1);
      data = ByteCursor(in.take(in.uleb()));
    }
    if (!read_augmentation(augmentation, data, cie)) return false;
    if (in.failed()) return false;
    if (!run_initial(cie, section_, in, cie.initial)) cie.broken = true;
    return true;
  }

  bool read_augmentation(std::string_view letters, ByteCursor& data, Cie& cie) const {
    bool encoded = false;
    for (const char letter : letters) switch (letter) {
        case 'R':
          cie.encoding = data.byte();
          encoded = true;
          break;
        case 'L':
          data.byte();
          break;  // of the pointer to exception tables
        case 'P': {
          const uint8_t encoding = data.byte();
          skip_pointer(data, encoding, section_);
          break;
        }
        case 'S':
          cie.signal = true;
          break;
        case 'B':
          break;  // how return addresses are signed, on another processor
        default:
          cie.broken = cie.augmented && encoded && !data.failed();
          return cie.broken;
      }
    return !data.failed();
  }

  bool read_fde(const Entry& entry) {
    Fde fde;
    fde.cie = cie_at(entry.cie);
    if (fde.cie == no_cie) return false;
    const Cie& cie = frames_.cies[fde.cie];
    ByteCursor in(entry.body);
    fde.start = read_pointer(in, cie.encoding, section_);
    fde.size = encoded_number(in, cie.encoding);
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

uint64_t read_pointer(ByteCursor& in, uint8_t encoding, const FrameSection& section) {
  std::optional<uint64_t> base = 0;
  switch (encoding & 0xf0) {
    case DW_EH_PE_absptr:
      break;
    case DW_EH_PE_pcrel:
      base = position(in, section);
      break;
    case DW_EH_PE_textrel:
      base = section.text;
      break;
    case DW_EH_PE_datarel:
      base = section.data;
      break;
    case DW_EH_PE_aligned:
      in.take((0 - position(in, section)) & 7);
      break;
    default:
      base.reset();  // relative to a function, indirect, or left out
  }
  if (!base) in.fail();
  return base.value_or(0) + encoded_number(in, encoding);
}

void skip_pointer(ByteCursor& in, uint8_t encoding, const FrameSection& section) {
  if (encoding == DW_EH_PE_omit) return;
  const bool aligned = (encoding & ~indirect & 0xf0) == DW_EH_PE_aligned;
  if (aligned) in.take((0 - position(in, section)) & 7);
  encoded_number(in, aligned ? uint8_t{DW_EH_PE_absptr} : encoding);
}

void read_frames(const FrameSection& section, Frames& frames) { Reader(section, frames).read(); }

}  // namespace memflame::unwind
