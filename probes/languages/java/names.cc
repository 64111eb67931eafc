// SPDX-License-Identifier: BSD-2-Clause
#include "probes/languages/names.h"

#include <algorithm>

#include "core/java_lines.h"

namespace memflame {
namespace {

std::string java_text(const uint8_t* from, size_t bytes) {
  bytes = std::min<size_t>(bytes, bpf::java_most_name);
  std::string result(reinterpret_cast<const char*>(from), bytes);
  if (bytes == bpf::java_most_name) result += "…";  // it may be longer
  return result;
}

// As Java prints it, but without the address that it adds to hidden classes, which is another one
// in each run.
std::string java_class(const uint8_t* from, size_t bytes) {
  std::string name = java_text(from, bytes);
  if (const size_t hidden = name.find("+0x"); hidden != std::string::npos) name.erase(hidden);
  std::ranges::replace(name, '/', '.');
  return name;
}

}  // namespace

bool name_java(const bpf::script_code_record& record, std::span<const uint8_t> lines,
               ScriptCode& code, uint32_t& /*instructions*/) {
  if (record.name.form == 0) return false;
  code.function = java_text(record.name_text, record.name.bytes);
  if (record.name.form != bpf::java_method_text) return true;
  code.function = java_class(record.file_text, record.file.form) + "." + code.function;
  code.file = java_text(record.file_text + bpf::java_most_name, record.file.bytes);
  code.lines =
      java_lines({reinterpret_cast<const char*>(lines.data()), lines.size()}, record.first_line);
  code.first_line = java_line(code.lines, script_no_place);
  return true;
}

}  // namespace memflame
