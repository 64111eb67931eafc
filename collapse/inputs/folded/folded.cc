// SPDX-License-Identifier: BSD-2-Clause
// Folded text (core/folded.h). Each thread reads blocks of lines into a profile of its own, and
// these profiles are merged in the end. Comments, issues and errors are taken in the order of the
// text.
#include "core/folded.h"

#include <algorithm>
#include <deque>
#include <mutex>

#include "collapse/blocks.h"
#include "collapse/input.h"
#include "collapse/inputs/folded/folded_comment.h"
#include "collapse/inputs/folded/folded_lines.h"
#include "collapse/inputs/folded/folded_numbers.h"
#include "collapse/issues.h"
#include "collapse/tidy/depth.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

// memflame's own comments at the beginning of a text, without damaged ones.
FoldedComments header_of(std::string_view head) {
  FoldedComments header;
  while (head.starts_with('#')) {
    const size_t end = head.find('\n');
    if (end == std::string_view::npos) break;
    std::string_view line = head.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with(folded_comment)) static_cast<void>(header.take(line));
    head.remove_prefix(end + 1);
  }
  return header;
}

std::vector<ValueType> named_columns(size_t count, const ValueType& type) {
  if (count == 1) return {type};
  std::vector<ValueType> types(count, type);
  for (size_t i = 0; i < count; ++i) types[i].name = "value" + std::to_string(i + 1);
  if (count == 2) {
    types[0].name = "before";
    types[1].name = "after";
  }
  return types;
}

FoldedLayout layout_of(const Source& source, const ReadOptions& options) {
  FoldedLayout layout;
  layout.max_frames = options.max_frames;
  FoldedComments header;
  try {
    header = header_of(source.head());
  } catch (const Error&) {  // reported later, with its line, when that is read
  }
  layout.roots_are_processes = header.roots_are_processes();
  if (options.columns > max_columns) source.fail("a line has 1,024 columns of numbers at most");
  if (header.any() && (options.columns == 0 || options.columns == header.types().size())) {
    layout.types = header.types();
    layout.shown = header.shown();
    layout.columns_are_sure = true;
    return layout;
  }
  const bool whole = source.head().size() < Source::head_size;
  const size_t columns =
      options.columns != 0 ? options.columns : counted_columns(source.head(), whole);
  layout.columns_are_sure = options.columns != 0;
  layout.types = named_columns(columns, options.type.value_or(ValueType{"count", Unit::count}));
  layout.shown = columns == 2 ? 1 : 0;
  return layout;
}

class FoldedReader {
 public:
  FoldedReader(Source& source, const ReadOptions& options)
      : source_(source),
        refuse_truncated_(options.refuse_truncated),
        layout_(layout_of(source, options)) {
    // A small text is not worth several threads, and the order of the input needs a single one.
    const bool small = source.head().size() < Source::head_size;
    const bool alone = small || options.in_order;
    for (unsigned i = 0; i < (alone ? 1 : std::max(1U, options.threads)); ++i)
      workers_.emplace_back(layout_);
    if (options.in_order) workers_.front().profile().keep_order();
  }

  Profile run() {
    Blocks blocks(source_, whole_lines);
    for_each_block(blocks, static_cast<unsigned>(workers_.size()),
                   [&](unsigned worker, const InputBlock& block) {
                     FoldedBlock result = workers_[worker].take(block);
                     // The last line may have lost digits of its number, or the whole number.
                     if (refuse_truncated_ && !result.error && !block.text.ends_with('\n'))
                       result.error = {result.lines, "the last line has no end"};
                     const bool good = !result.error;
                     const std::lock_guard lock(mutex_);
                     if (results_.size() <= block.index) results_.resize(block.index + 1);
                     results_[block.index] = std::move(result);
                     return good;
                   });
    for (const FoldedBlock& result : results_) finish(result);
    return join();
  }

 private:
  // Called for the blocks in the order of the text.
  void finish(const FoldedBlock& result) {
    for (const FoldedBlock::Line& comment : result.comments) {
      bool good = false;
      try {
        good = comments_.take(comment.text);
      } catch (const Error& error) {
        source_.fail(error.what(), lines_ + comment.number);
      }
      if (!good)
        issues_.add("a damaged comment of memflame's", lines_ + comment.number, comment.text);
    }
    if (result.error) source_.fail(result.error->text, lines_ + result.error->number);
    issues_.add(result.issues, lines_);
    lines_ += result.lines;
    stacks_ += result.stacks;
    dropped_ += result.dropped;
  }

  Profile join() {
    Profile profile = workers_.front().take_profile();
    uint64_t rounded = 0, truncated = 0, truncated_frames = 0;
    for (size_t i = 0; i < workers_.size(); ++i) {
      if (i != 0) merge(profile, workers_[i].take_profile());
      rounded += workers_[i].rounded();
      truncated += workers_[i].truncated();
      truncated_frames += workers_[i].truncated_frames();
    }
    if (lines_ == 0) source_.fail("it is empty; expected lines like 'main;parse;f 4096'");
    if (profile.touched().empty() && !comments_.any())
      source_.fail("no line has the form 'main;parse;f 4096'" +
                       (issues_.any() ? "; " + issues_.texts().front() : "") + likely(),
                   lines_);
    if (dropped_ > stacks_)
      source_.fail("it is not folded text: " + issues_.texts().front() + ", and only " +
                   with_commas(static_cast<int64_t>(stacks_)) +
                   " have the form 'main;parse;f 4096'" + likely());
    name_columns(profile);
    issues_.finish(profile);
    if (rounded != 0)
      profile.meta.notes.push_back("numbers of more than 9 decimals are rounded: " +
                                   with_commas(static_cast<int64_t>(rounded)));
    note_truncated(profile, truncated, truncated_frames, layout_.max_frames);
    if (profile.types.size() == 2 && !layout_.columns_are_sure)
      profile.meta.notes.push_back("two numbers a line are read as before and after");
    comments_.finish(profile);
    return profile;
  }

  std::string likely() const {
    const std::string what = likely_format(source_.head());
    return what.empty() ? "" : "; it looks like " + what;
  }

  // A header may come later: texts can be concatenated, and only the second may have one.
  void name_columns(Profile& profile) const {
    if (!comments_.any() || comments_.types() == layout_.types) return;
    if (comments_.types().size() != profile.types.size()) {
      if (layout_.columns_are_sure) return;  // the user stated them
      source_.fail("there are texts of " + std::to_string(comments_.types().size()) + " and of " +
                   std::to_string(profile.types.size()) +
                   " numbers a line; collapse them one by one");
    }
    for (size_t i = 0; i < profile.types.size(); ++i) {
      profile.types[i].name = comments_.types()[i].name;
      profile.types[i].unit = comments_.types()[i].unit;
    }
    profile.shown = comments_.shown();
  }

  Source& source_;
  const bool refuse_truncated_;
  const FoldedLayout layout_;
  std::deque<FoldedLines> workers_;  // stay where they are
  std::mutex mutex_;
  std::vector<FoldedBlock> results_;  // by InputBlock::index
  FoldedComments comments_;
  Issues issues_;
  size_t lines_ = 0;
  size_t stacks_ = 0, dropped_ = 0;  // lines with a stack, and those not understood
};

}  // namespace

Profile read_folded(Source& source, const ReadOptions& options) {
  return FoldedReader(source, options).run();
}

}  // namespace memflame
