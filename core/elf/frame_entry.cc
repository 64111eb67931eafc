// SPDX-License-Identifier: BSD-2-Clause
#include "core/elf/frame_entry.h"

#include <dwarf.h>

#include <string_view>

namespace memflame {
namespace {

constexpr uint64_t indirect = 0x80;  // DW_EH_PE_indirect

uint64_t position(const ByteCursor& in, const FrameSection& section) {
  return section.address + static_cast<uint64_t>(in.at() - section.bytes.data());
}

bool read_augmentation(std::string_view letters, ByteCursor& data, const FrameSection& section,
                       CieHead& cie) {
  bool encoded = false;
  for (const char letter : letters) switch (letter) {
      case 'R':
        cie.encoding = data.byte();
        encoded = true;
        break;
      case 'L':
        data.byte();
        break;  // the encoding of pointers to exception tables
      case 'P': {
        const uint8_t encoding = data.byte();
        skip_pointer(data, encoding, section);
        break;
      }
      case 'S':
        cie.signal = true;
        break;
      case 'B':
        break;  // AArch64: the key that signs return addresses
      default:
        cie.broken = cie.augmented && encoded && !data.failed();
        return cie.broken;
    }
  return !data.failed();
}

}  // namespace

uint64_t read_encoded(ByteCursor& in, uint8_t encoding) {
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
  return base.value_or(0) + read_encoded(in, encoding);
}

void skip_pointer(ByteCursor& in, uint8_t encoding, const FrameSection& section) {
  if (encoding == DW_EH_PE_omit) return;
  const bool aligned = (encoding & ~indirect & 0xf0) == DW_EH_PE_aligned;
  if (aligned) in.take((0 - position(in, section)) & 7);
  read_encoded(in, aligned ? uint8_t{DW_EH_PE_absptr} : encoding);
}

bool read_cie_head(ByteCursor& in, const FrameSection& section, CieHead& cie) {
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
  return read_augmentation(augmentation, data, section, cie) && !in.failed();
}

}  // namespace memflame
