// SPDX-License-Identifier: BSD-2-Clause
#include "probes/languages/names.h"

#include <algorithm>

#include "core/utf8.h"

namespace memflame {
namespace {

std::string text_of(const uint8_t* from, const bpf::script_text& text, size_t most) {
  const size_t bytes = std::min<size_t>(text.bytes, most);
  std::string result = python_text({from, bytes}, text.form);
  if (bytes == most) result += "…";  // it may be longer
  return result;
}

}  // namespace

std::string python_text(std::span<const uint8_t> text, uint32_t state) {
  const size_t width = state >> 2U & 7U;
  std::string result;
  if (width != 1 && width != 2 && width != 4) return result;
  for (size_t at = 0; at + width <= text.size(); at += width) {
    uint32_t point = 0;
    for (size_t i = 0; i < width; ++i) point |= uint32_t{text[at + i]} << (8 * i);
    append_utf8(result, is_character(point) ? point : 0xfffd);
  }
  return result;
}

bool name_python(const bpf::script_code_record& record, std::span<const uint8_t> lines,
                 ScriptCode& code, uint32_t& /*instructions*/) {
  if (record.name.bytes == 0) return false;
  code.function = text_of(record.name_text, record.name, bpf::max_script_name);
  code.file = text_of(record.file_text, record.file, bpf::max_script_file);
  code.first_line = record.first_line;
  code.lines.assign(reinterpret_cast<const char*>(lines.data()), lines.size());
  return true;
}

}  // namespace memflame
