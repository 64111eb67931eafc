// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/clickhouse/stack_row.h"

#include <vector>

#include "core/error.h"
#include "core/kind_names.h"

namespace memflame {
namespace {

struct StackArrays {
  std::vector<std::string> names, kinds, modules, files;
  std::vector<uint32_t> lines, start_lines;
  std::vector<std::string> build_ids;
  std::vector<uint64_t> addresses;
  std::vector<std::string> code_files;
  std::vector<uint64_t> code_starts, code_limits, code_offsets;
  std::vector<uint8_t> code_is_program;
};

void add_frame(StackArrays& arrays, const Profile& profile, FrameId id) {
  const Frame& frame = profile.frames[id];
  const CodePlace& place = profile.code[frame.code];
  const CodeMapping& code = profile.code[place.mapping];
  arrays.names.emplace_back(profile.strings[frame.function]);
  arrays.kinds.emplace_back(name(frame.kind));
  arrays.modules.emplace_back(profile.strings[frame.module]);
  arrays.files.emplace_back(profile.strings[frame.file]);
  arrays.lines.push_back(frame.line);
  arrays.start_lines.push_back(frame.start_line);
  arrays.build_ids.push_back(code.build_id);
  arrays.addresses.push_back(place.address);
  arrays.code_files.push_back(code.file);
  arrays.code_starts.push_back(code.start);
  arrays.code_limits.push_back(code.limit);
  arrays.code_offsets.push_back(code.offset);
  arrays.code_is_program.push_back(profile.code.is_program(place.mapping) ? 1 : 0);
}

CodeId code_of(const StackArrays& arrays, size_t i, Profile& profile) {
  if (arrays.addresses[i] == 0) return {};
  const CodeMappingId mapping = profile.code.add({.file = arrays.code_files[i],
                                                  .build_id = arrays.build_ids[i],
                                                  .start = arrays.code_starts[i],
                                                  .limit = arrays.code_limits[i],
                                                  .offset = arrays.code_offsets[i]});
  if (arrays.code_is_program[i] != 0) profile.code.mark_program(mapping);
  return profile.code.add({mapping, arrays.addresses[i]});
}

void require_equal_lengths(const StackArrays& arrays) {
  const size_t frames = arrays.names.size();
  for (const size_t length :
       {arrays.kinds.size(), arrays.modules.size(), arrays.files.size(), arrays.lines.size(),
        arrays.start_lines.size(), arrays.build_ids.size(), arrays.addresses.size(),
        arrays.code_files.size(), arrays.code_starts.size(), arrays.code_limits.size(),
        arrays.code_offsets.size(), arrays.code_is_program.size()})
    if (length != frames)
      throw Error("a stack of the store is damaged: its arrays differ in length");
}

}  // namespace

const char* const stack_arrays =
    "names, kinds, modules, files, lines, start_lines, build_ids, addresses, code_files, "
    "code_starts, code_limits, code_offsets, code_is_program";

std::string stack_row(const Profile& profile, StackId stack) {
  StackArrays arrays;
  for (const FrameId id : profile.path(stack)) add_frame(arrays, profile, id);
  RowWriter row;
  row.texts(arrays.names);
  row.texts(arrays.kinds);
  row.texts(arrays.modules);
  row.texts(arrays.files);
  row.numbers(arrays.lines);
  row.numbers(arrays.start_lines);
  row.texts(arrays.build_ids);
  row.numbers(arrays.addresses);
  row.texts(arrays.code_files);
  row.numbers(arrays.code_starts);
  row.numbers(arrays.code_limits);
  row.numbers(arrays.code_offsets);
  row.numbers(arrays.code_is_program);
  return row.bytes();
}

StackId read_stack_row(RowReader& rows, Profile& profile, bool code) {
  StackArrays arrays;
  arrays.names = rows.texts();
  arrays.kinds = rows.texts();
  arrays.modules = rows.texts();
  arrays.files = rows.texts();
  arrays.lines = rows.numbers<uint32_t>();
  arrays.start_lines = rows.numbers<uint32_t>();
  arrays.build_ids = rows.texts();
  arrays.addresses = rows.numbers<uint64_t>();
  arrays.code_files = rows.texts();
  arrays.code_starts = rows.numbers<uint64_t>();
  arrays.code_limits = rows.numbers<uint64_t>();
  arrays.code_offsets = rows.numbers<uint64_t>();
  arrays.code_is_program = rows.numbers<uint8_t>();
  require_equal_lengths(arrays);
  StackId stack;
  for (size_t i = 0; i < arrays.names.size(); ++i) {
    Frame frame{.function = profile.strings.intern(arrays.names[i]),
                .module = profile.strings.intern(arrays.modules[i]),
                .file = profile.strings.intern(arrays.files[i]),
                .line = arrays.lines[i],
                .kind = FrameKind::user};
    if (!parse_kind(arrays.kinds[i], frame.kind))
      throw Error("a stack of the store has a frame of an unknown kind: '" + arrays.kinds[i] + "'");
    if (code) {
      frame.start_line = arrays.start_lines[i];
      frame.code = code_of(arrays, i, profile);
    }
    stack = profile.stacks.push(stack, profile.frames.intern(frame));
  }
  return stack;
}

}  // namespace memflame
