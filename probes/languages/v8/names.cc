// SPDX-License-Identifier: BSD-2-Clause
#include "probes/languages/names.h"

#include <algorithm>

#include "core/utf8.h"

namespace memflame {

std::string v8_text(std::span<const uint8_t> text, uint32_t form) {
  std::string result;
  if ((form & bpf::v8_text_wide) == 0) {
    for (const uint8_t point : text) append_utf8(result, point);
    return result;
  }
  const auto unit = [&](size_t at) { return uint32_t{text[at]} | uint32_t{text[at + 1]} << 8U; };
  for (size_t at = 0; at + 2 <= text.size(); at += 2) {
    uint32_t point = unit(at);
    // Characters beyond 0xffff are pairs: ten bits each.
    if (point >> 10U == 0x36 && at + 4 <= text.size() && unit(at + 2) >> 10U == 0x37) {
      point = 0x10000 + ((point & 0x3ffU) << 10U | (unit(at + 2) & 0x3ffU));
      at += 2;
    }
    append_utf8(result, is_character(point) ? point : 0xfffd);
  }
  return result;
}

// The name of a function and its script, as V8's own stack traces have them.
bool name_javascript(const bpf::script_code_record& record, std::span<const uint8_t> /*lines*/,
                     ScriptCode& code, uint32_t& /*instructions*/) {
  const auto text = [](const uint8_t* from, const bpf::script_text& of, size_t most) {
    const size_t bytes = std::min<size_t>(of.bytes, most);
    std::string result = v8_text({from, bytes}, of.form);
    if (bytes == most || (of.form & bpf::v8_text_cut) != 0) result += "…";
    return result;
  };
  constexpr std::string_view file_scheme = "file://";  // of modules
  if (record.name.form == 0) return false;
  code.function = text(record.name_text, record.name, bpf::max_script_name);
  if (code.function.empty()) code.function = "(anonymous)";
  code.file = text(record.file_text, record.file, bpf::max_script_file);
  if (code.file.starts_with(file_scheme)) code.file.erase(0, file_scheme.size());
  if (code.file.empty()) code.file = "[eval]";
  code.first_line = record.first_line;
  return true;
}

}  // namespace memflame
