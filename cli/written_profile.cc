// SPDX-License-Identifier: BSD-2-Clause
#include "cli/written_profile.h"

#include <iostream>

#include "cli/drawing_options.h"
#include "cli/files/output_file.h"
#include "cli/input_options.h"
#include "cli/options.h"
#include "cli/runs/drawing.h"
#include "cli/terminal_looks.h"
#include "collapse/text/issues.h"
#include "core/difference.h"
#include "core/error.h"
#include "core/sums.h"
#include "core/units.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

void warn_of_left_out(const Written& written, const Profile& profile) {
  Output output = written.format;
  // Before and after tell what has changed.
  if (output.is(if_asked) &&
      (written.render.all_values || (difference_of(profile) && !written.render.one_value)))
    output.holds |= columns;
  if (written.render.compat) output.holds |= marks;  // the user chose which marks it has
  std::string list;
  for (const std::string& what : left_out(output, profile))
    list += (list.empty() ? "" : "; ") + what;
  if (!list.empty())
    std::cerr << "memflame: " << output.name << " has no place for: " << list << "\n";
}

bool is_zero(const Profile& profile, size_t column) {
  for (size_t row = 0; row < profile.rows(); ++row)
    if (profile.row(row).values[column] != 0) return false;
  return true;
}

// A graph of nothing, and text without a line, look like a failure: what else is there is named.
void warn_of_zeros(const Profile& profile) {
  if (profile.rows() == 0 || !is_zero(profile, profile.shown)) return;
  std::string others;
  uint64_t replaced = 0;
  const auto name_of = [&](size_t i) { return clean_text(profile.types[i].name, replaced); };
  for (size_t i = 0; i < profile.types.size(); ++i)
    if (profile.types[i].unit != Unit::variance && !is_zero(profile, i))
      others += (others.empty() ? "" : ", ") + name_of(i);
  std::cerr << "memflame: all " << with_commas(static_cast<int64_t>(profile.rows()))
            << " stacks have a '" << name_of(profile.shown) << "' of 0";
  if (!others.empty()) std::cerr << "; --value shows what they have: " << others;
  std::cerr << "\n";
}

}  // namespace

void warn_of_losses(const Profile& profile) {
  for (const std::string& note : profile.meta.notes)
    if (tells_of_issue(note) || tells_of_cut(note)) std::cerr << "memflame: " << note << "\n";
  for (size_t i = 0; i < loss_info.size(); ++i) {
    const LossCount& count = profile.losses[static_cast<Loss>(i)];
    if (count.events != 0)
      std::cerr << "memflame: " << (loss_info[i].kind == LossKind::cut ? "cut stacks, " : "")
                << loss_info[i].label << ": " << with_commas(static_cast<int64_t>(count.events))
                << "\n";
  }
}

void refuse_looks_of_list(const boost::program_options::variables_map& values) {
  std::vector<std::string> given = looks_given(values);
  for (const char* option :
       {"sort", "format", "anonymise", "all-values", "by-line", "lines", "no-header", "no-marks"})
    if (values.count(option) != 0 && !values[option].defaulted()) given.emplace_back(option);
  if (given.empty()) return;
  std::string list;
  for (const std::string& option : given) list += (list.empty() ? "--" : ", --") + option;
  throw Error("--list only lists figures, and " + list +
                  " concerns how they are written: leave one of them out",
              ExitCode::usage);
}

void write_list(const Profile& profile, const boost::program_options::variables_map& values) {
  std::string path;
  take(values, "output", path);
  write_output(path, [&](std::ostream& out) { list_profile(out, profile); });
  warn_of_losses(profile);
}

Written written_as(const boost::program_options::variables_map& values,
                   const std::string& standard) {
  std::string path, format;
  take(values, "output", path);
  take(values, "format", format);
  if (format.empty() && path.empty()) format = standard;
  Written written{output_for(format, path), path, render_options(values)};
  written.transform = transform_of(values);
  warn_of_unused_looks(values, written.format);
  fit_terminal(values, written.format, path, written.render);
  written.render.one_value = values.count("value") != 0;
  written.render.threads = threads_of(values);
  written.render.compat = values.count("compat") != 0;
  check_render_options(written.render);
  if (written.format.is(as_image)) refuse_terminal(path, written.format.suffix);
  require_writable(path);
  return written;
}

void write_profile(Profile profile, Written written) {
  profile = prepared(std::move(profile), written.transform, written.render);
  require_sums(profile);  // adding up inputs, or --factor, may have made them too large
  require_short_lists(written.format, profile);
  write_output(
      written.path, [&](std::ostream& out) { written.format.write(out, profile, written.render); },
      written.readers);
  keep_colours(profile, written.render);
  profile.losses.add(Loss::replaced_bytes, replaced_bytes(profile));
  warn_of_losses(profile);
  warn_of_zeros(profile);
  warn_of_left_out(written, profile);
}

}  // namespace memflame
