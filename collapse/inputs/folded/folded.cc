// SPDX-License-Identifier: BSD-2-Clause
// Folded text (core/folded.h). Threads read blocks of lines, each on its own; then the blocks take
// turns, in the order of the text, to add their stacks, comments, issues and errors to the profile.
#include "core/folded.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "collapse/inputs/folded/folded_comment.h"
#include "collapse/inputs/folded/folded_lines.h"
#include "collapse/inputs/folded/folded_numbers.h"
#include "collapse/inputs/folded/folded_tree.h"
#include "collapse/inputs/readers.h"
#include "collapse/text/blocks.h"
#include "collapse/text/issues.h"
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
        likely_(options.likely),
        layout_(layout_of(source, options)),
        // A small text is not worth several threads, and the order of the input needs a single one.
        threads_(source.head().size() < Source::head_size || options.in_order
                     ? 1
                     : std::max(1U, options.threads)),
        tree_(layout_, threads_ > 1) {
    for (unsigned i = 0; i < threads_; ++i) workers_.emplace_back(layout_, tree_.known());
    if (options.in_order) tree_.profile.keep_order();
  }

  Profile run() {
    Blocks blocks(source_, whole_lines);
    for_each_block(blocks, threads_, [&](unsigned worker, const InputBlock& block) {
      try {
        return take(workers_[worker], block);
      } catch (...) {
        pass_turn(no_turn);
        throw;
      }
    });
    if (failure_) source_.fail(failure_->text, failure_->number);
    return finish();
  }

 private:
  bool take(FoldedLines& worker, const InputBlock& block) {
    FoldedBlock result = worker.take(block);
    FoldedStacks& stacks = worker.stacks();
    if (!tree_.in_order() && stacks.unknown.empty()) stacks.lay_out();
    // The last line may have lost digits of its number, or the whole number.
    const bool cut = !block.text.empty() && !block.text.ends_with('\n');
    if (refuse_truncated_ && cut && !result.error)
      result.error = {result.lines, "the last line has no end"};
    if (!wait_for_turn(block.index)) return false;
    if (std::optional<FoldedBlock::Line> earlier = tree_.take(stacks))
      result.error = std::move(earlier);
    const bool good = take(result);
    pass_turn(good ? block.index + 1 : no_turn);
    return good;
  }

  // Returns false if a block before has failed.
  bool wait_for_turn(size_t block) const {
    size_t now = turn_;
    for (; now != block && now != no_turn; now = turn_) turn_.wait(now);
    return now == block;
  }

  void pass_turn(size_t block) {
    turn_ = block;
    turn_.notify_all();
  }

  // Returns false if that is the end of the reading. Another thread may be using source_.
  bool take(const FoldedBlock& result) {
    for (const FoldedBlock::Line& comment : result.comments) {
      bool good = false;
      try {
        good = comments_.take(comment.text);
      } catch (const Error& error) {
        failure_ = {lines_ + comment.number, error.what()};
        return false;
      }
      if (!good)
        issues_.add("a damaged comment of memflame's", lines_ + comment.number, comment.text);
    }
    if (result.error) {
      failure_ = {lines_ + result.error->number, result.error->text};
      return false;
    }
    issues_.add(result.issues, lines_);
    lines_ += result.lines;
    stacks_ += result.stacks;
    dropped_ += result.dropped;
    return true;
  }

  Profile finish() {
    Profile profile = tree_.take_profile();
    uint64_t rounded = 0, truncated = 0, truncated_frames = 0;
    for (const FoldedLines& worker : workers_) {
      rounded += worker.rounded();
      truncated += worker.truncated();
      truncated_frames += worker.truncated_frames();
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
    const std::string what = likely_ == nullptr ? "" : likely_(source_.head());
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
  std::string (*const likely_)(std::string_view head);
  const FoldedLayout layout_;
  const unsigned threads_;
  FoldedTree tree_;
  std::vector<FoldedLines> workers_;
  static constexpr size_t no_turn = SIZE_MAX;
  std::atomic<size_t> turn_{0};               // the block that may be added, by InputBlock::index
  std::optional<FoldedBlock::Line> failure_;  // with its line of the text
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
