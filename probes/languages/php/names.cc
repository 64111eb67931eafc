// SPDX-License-Identifier: BSD-2-Clause
#include "probes/languages/names.h"

namespace memflame {

// The name as PHP's backtraces have it; what has none is the code of a file outside of functions.
bool name_php(const bpf::script_code_record& record, std::span<const uint8_t> class_name,
              ScriptCode& code, uint32_t& /*instructions*/) {
  const auto text = [](const uint8_t* from, size_t bytes, size_t most) {
    std::string result = script_text_of(from, bytes, most);
    if (const size_t end = result.find('\0'); end != std::string::npos) result.erase(end);
    return result;
  };
  if (record.name.form == 0) return false;
  code.function = text(record.name_text, record.name.bytes, bpf::max_script_name);
  if (code.function.empty()) {
    code.function = "{main}";
  } else if (!class_name.empty()) {
    // The name of a class without one goes on, behind a zero, with the place where it was made.
    code.function =
        text(class_name.data(), class_name.size(), bpf::max_script_name) + "::" + code.function;
  }
  code.file = text(record.file_text, record.file.bytes, bpf::max_script_file);
  code.first_line = record.first_line;
  return true;
}

}  // namespace memflame
