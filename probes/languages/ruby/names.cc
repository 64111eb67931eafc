// SPDX-License-Identifier: BSD-2-Clause
#include "probes/languages/names.h"

#include "probes/languages/ruby/lines.h"

namespace memflame {

// The name and the file as Ruby's backtraces have them.
bool name_ruby(const bpf::script_code_record& record, std::span<const uint8_t> lines,
               ScriptCode& code, uint32_t& instructions) {
  if (record.name.form == 0) return false;
  code.function = script_text_of(record.name_text, record.name.bytes, bpf::max_script_name);
  code.file = script_text_of(record.file_text, record.file.bytes, bpf::max_script_file);
  code.first_line = record.first_line;
  code.lines = ruby_lines(lines, instructions);
  return true;
}

}  // namespace memflame
