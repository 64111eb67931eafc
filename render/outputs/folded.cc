// SPDX-License-Identifier: BSD-2-Clause
#include "core/folded.h"

#include <algorithm>
#include <map>
#include <memory>

#include "core/difference.h"
#include "core/units.h"
#include "render/order/source_lines.h"
#include "render/order/stack_rows.h"
#include "render/output.h"
#include "render/outputs/comments.h"
#include "render/text/clean_text.h"
#include "render/text/folded_names.h"
#include "render/text/ordered_text.h"

namespace memflame {
namespace {

// Makes one word of a column's name: memflame's own names are one, names from files may not be.
std::string word(std::string_view name) {
  uint64_t replaced = 0;
  std::string text = clean_text(name, replaced);
  for (char& c : text)
    if (c == ' ' || c == '"' || c == '\\' || c == ',') c = '-';
  return text.empty() ? "value" : text;
}

// The words of some columns, all different.
std::vector<std::string> words(const Profile& profile, const std::vector<size_t>& columns) {
  std::vector<std::string> list;
  for (const size_t column : columns) {
    const std::string first = word(profile.types[column].name);
    std::string text = first;
    for (size_t i = 2; std::find(list.begin(), list.end(), text) != list.end(); ++i)
      text = first + "-" + std::to_string(i);
    list.push_back(std::move(text));
  }
  return list;
}

// 1250 with two decimals is "12.5".
std::string shortest(int64_t value, uint8_t decimals) {
  for (; decimals > 0 && value % 10 == 0; --decimals) value /= 10;
  return plain(value, decimals);
}

// After such a path, a blank and a number would look like a second number.
bool ends_in_number(std::string_view path) {
  const size_t digits = path.find_last_not_of("0123456789.-") + 1;
  return digits < path.size() && digits > 0 && path[digits - 1] == ' ';
}

class FoldedWriter {
 public:
  FoldedWriter(std::ostream& out, const Profile& profile, const RenderOptions& options)
      : out_(out), profile_(profile), options_(options), names_(profile, options.marks) {
    const std::optional<Difference> difference = difference_of(profile);
    if (options.all_values) {
      for (size_t i = 0; i < profile.types.size(); ++i)
        if (profile.types[i].unit != Unit::variance) columns_.push_back(i);
    } else if (difference && !options.one_value) {
      columns_ = {difference->before, difference->after};
    } else {
      columns_ = {profile.shown};
    }
  }

  void run() {
    if (options_.header) write_header();
    // A small text is not worth a thread. Chunks are small enough to keep their text.
    constexpr size_t chunk = 256, little = 64 * chunk;
    const unsigned threads = profile_.stacks.size() < little ? 1 : std::max(options_.threads, 1U);
    const auto order = std::make_shared<const StackOrder>(profile_, names_.views(), threads);
    write_in_order(out_, threads, [&](unsigned thread, OrderedText& all) {
      StackRows rows(order, ';');
      std::string text;
      for (size_t i = thread; i * chunk < order->size(); i += threads) {
        while (rows.next_in(i * chunk, (i + 1) * chunk)) {
          add_row(rows, text);
          if (text.size() >= OrderedText::piece && !all.add(i, text)) return;
        }
        if (!all.end(i, text)) return;
      }
    });
  }

 private:
  void add_row(const StackRows& rows, std::string& text) const {
    const auto is_zero = [&](size_t column) { return rows.values()[column] == 0; };
    if (std::all_of(columns_.begin(), columns_.end(), is_zero)) return;
    text += rows.path();
    const bool one_unsaid = !options_.header && columns_.size() == 1;
    const bool tabs = options_.all_values || (one_unsaid && ends_in_number(rows.path()));
    for (const size_t column : columns_)
      (text += tabs ? '\t' : ' ') +=
          shortest(rows.values()[column], profile_.types[column].decimals);
    text += '\n';
  }

  // Facts that the stacks alone do not hold. Grammar and reader: core/folded.h, collapse/inputs/.
  void write_header() {
    const auto found = std::find(columns_.begin(), columns_.end(), profile_.shown);
    // A difference may show another column; then the state after is named.
    const size_t told = found != columns_.end() ? profile_.shown : columns_.back();
    const std::vector<std::string> names = words(profile_, columns_);
    const auto at = std::find(columns_.begin(), columns_.end(), told) - columns_.begin();
    const ValueType& type = profile_.types[told];
    // A sum beyond 64 bits is an error, thrown before anything is written.
    const std::string total = shortest(profile_.total(told), type.decimals);
    out_ << folded_comment << "folded unit=" << name(type.unit)
         << " value=" << names[static_cast<size_t>(at)] << " total=" << total;
    for (size_t i = 0; columns_.size() > 1 && i < columns_.size(); ++i)
      out_ << (i == 0 ? " columns=\"" : ",") << names[i] << ':'
           << name(profile_.types[columns_[i]].unit);
    out_ << (columns_.size() == 1 ? "\n" : "\"\n");
    write_comments(out_, profile_, options_, replaced_bytes(profile_));
  }

  std::ostream& out_;
  const Profile& profile_;
  const RenderOptions& options_;
  const FoldedNames names_;
  std::vector<size_t> columns_;
};

// Whether a line that begins with this frame would be a comment. "#" makes one only as the whole
// path.
bool begins_comment(const Profile& profile, FrameId frame) {
  const std::string_view name = profile.strings[profile.frames[frame].function];
  return name == "#" || name.starts_with("# ");
}

bool any_comment(const Profile& profile) {
  for (uint32_t i = 1; i < profile.stacks.size(); ++i) {
    const StackNode& node = profile.stacks[StackId{i}];
    if (!node.caller && begins_comment(profile, node.frame)) return true;
  }
  return false;
}

// The same stacks with "_" for the "#" of such frames.
Profile without_comments(const Profile& profile) {
  Profile out({}, profile);
  std::vector<StackId> places(profile.stacks.size()), own;
  own = places;
  for (uint32_t i = 1; i < places.size(); ++i) {
    const StackNode& node = profile.stacks[StackId{i}];
    Frame frame = frame_from(out, profile, node.frame);
    const StackId caller = places[node.caller.index];
    own[i] = places[i] = out.stacks.push(caller, out.frames.intern(frame));
    if (node.caller || !begins_comment(profile, node.frame)) continue;
    const std::string name(profile.strings[profile.frames[node.frame].function]);
    frame.function = out.strings.intern("_" + name.substr(1));
    own[i] = out.stacks.push(caller, out.frames.intern(frame));
    if (name != "#") places[i] = own[i];
  }
  for (const StackId stack : profile.touched()) out.add(own[stack.index], profile.values(stack));
  return out;
}

// As FlameGraph's collapsers write it, with zeros and control characters, in bytewise order of
// lines.
void write_compat(std::ostream& out, const Profile& profile) {
  std::vector<std::string_view> names(profile.frames.size());
  for (uint32_t i = 1; i < names.size(); ++i)
    names[i] = profile.strings[profile.frames[FrameId{i}].function];
  std::map<std::string, int64_t> lines;
  for (StackRows rows(profile, names, ';'); rows.next();)
    if (!add_to(lines[std::string(rows.path())], rows.values()[profile.shown], Unit::count))
      throw Error("a sum of values leaves the range of 64 bits; the profile cannot be right");
  for (const auto& [path, value] : lines) out << path << ' ' << value << '\n';
}

void write_names(std::ostream& out, const Profile& profile, const RenderOptions& options) {
  if (any_comment(profile))
    FoldedWriter(out, without_comments(profile), options).run();
  else
    FoldedWriter(out, profile, options).run();
}

}  // namespace

// Stacks whose values are 0 are left out: the sum stays the same.
void write_folded(std::ostream& out, const Profile& profile, const RenderOptions& options) {
  if (options.compat)
    write_compat(out, profile);
  else if (options.lines)
    write_names(out, with_lines_in_names(profile), options);
  else
    write_names(out, profile, options);
}

}  // namespace memflame
