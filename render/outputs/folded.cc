#include "core/folded.h"

#include <algorithm>

#include "render/clean_text.h"
#include "render/comments.h"
#include "render/output.h"
#include "render/stack_rows.h"

namespace memflame {
namespace {

// What the stacks alone do not say. Grammar and reader: core/folded.h, collapse/inputs/.
void write_header(std::ostream& out, const Profile& profile, const RenderOptions& options,
                  uint64_t replaced) {
  const ValueType& type = profile.types[profile.shown];
  // A value's name is one word: ours are, those of a file may not be.
  std::string value = clean_text(type.name, replaced);
  std::replace_if(
      value.begin(), value.end(), [](char c) { return c == ' ' || c == '"'; }, '-');
  out << folded_comment << "folded unit=" << name(type.unit)
      << " value=" << (value.empty() ? "value" : value) << " total=" << profile.total(profile.shown)
      << "\n";
  write_comments(out, profile, options, replaced);
}

// As FlameGraph's collapsers write it, zeros and control characters too.
void write_compat(std::ostream& out, const Profile& profile) {
  std::vector<std::string> names(profile.frames.size());
  for (uint32_t i = 1; i < names.size(); ++i)
    names[i] = profile.strings[profile.frames[FrameId{i}].function];
  for (const StackRow& row : stack_rows(profile, names, ';'))
    out << row.path << ' ' << row.values[profile.shown] << '\n';
}

}  // namespace

// Stacks whose value is 0 are left out: they take nothing from the sum.
void write_folded(std::ostream& out, const Profile& profile, const RenderOptions& options) {
  if (options.compat) return write_compat(out, profile);
  const CleanStrings clean = clean_strings(profile);
  if (options.header) write_header(out, profile, options, clean.replaced);
  for (StackRow& row : stack_rows(profile, folded_names(profile, clean), ';')) {
    if (row.values[profile.shown] == 0) continue;
    // A line that begins with "# " would be a comment.
    if (row.path == "#" || row.path.starts_with("# ")) row.path[0] = '_';
    out << row.path << ' ' << row.values[profile.shown] << '\n';
  }
}

}  // namespace memflame
