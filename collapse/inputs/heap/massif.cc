// SPDX-License-Identifier: BSD-2-Clause
// massif's output: snapshots, some with a tree of the code that allocated. The tree begins at the
// allocation and goes up to its callers, so its leaves are the roots of stacks; each node has the
// sum of its children.
//
//   snapshot=3
//   time=1520
//   mem_heap_B=4096
//   …
//   heap_tree=detailed
//   n1: 4096 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
//    n0: 4096 0x109187: make (a.c:5)
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "collapse/inputs/heap/massif_tree.h"
#include "collapse/inputs/readers.h"
#include "collapse/text/byte_set.h"
#include "collapse/text/issues.h"
#include "collapse/text/lines.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

constexpr ByteSet end_of_key = byte_set("=:");

struct MassifHeader {
  std::string description, command, time_unit;
};

struct MassifSnapshot {
  uint64_t number = 0;
  int64_t time = 0, heap = 0, extra = 0, stacks = 0;
  std::string tree = "empty";         // or "detailed", "peak"
  std::vector<MassifTree::Row> rows;  // self values
};

constexpr std::array<std::pair<std::string_view, std::string MassifHeader::*>, 3> texts{
    {{"desc", &MassifHeader::description},
     {"cmd", &MassifHeader::command},
     {"time_unit", &MassifHeader::time_unit}}};
constexpr std::array<std::pair<std::string_view, int64_t MassifSnapshot::*>, 4> scalars{
    {{"time", &MassifSnapshot::time},
     {"mem_heap_B", &MassifSnapshot::heap},
     {"mem_heap_extra_B", &MassifSnapshot::extra},
     {"mem_stacks_B", &MassifSnapshot::stacks}}};

// Whether to show snapshot `a` rather than the earlier `b`. The highest peak is shown, else the
// last snapshot with a tree, else the last one.
bool better(const MassifSnapshot& a, const MassifSnapshot& b) {
  const auto rank = [](const MassifSnapshot& s) {
    return s.tree == "peak" ? 2 : s.tree == "detailed" ? 1 : 0;
  };
  if (rank(a) != rank(b)) return rank(a) > rank(b);
  return rank(a) != 2 || a.heap >= b.heap;
}

class MassifReader {
 public:
  MassifReader(Source& source, const ReadOptions& options)
      : options_(options), lines_(source), tree_(profile_, issues_, options) {
    profile_.types = {{"heap", Unit::bytes}};
  }

  Profile run() {
    while (lines_.next()) {
      if (!lines_.ended()) {
        cut_off();
        break;
      }
      try {
        take(lines_.line());
      } catch (const Error& error) {
        lines_.fail(error.what());
      }
    }
    end_snapshot();
    if (snapshots_ == 0) lines_.fail("no snapshot is in it");
    choose();
    issues_.finish(profile_);
    return std::move(profile_);
  }

 private:
  void cut_off() {
    constexpr const char* what = "the input ends in the middle of a line";
    if (options_.refuse_truncated) lines_.fail(what);
    profile_.meta.notes.push_back(std::string(what) + "; that line was left out");
  }

  void take(std::string_view line) {
    if (line.starts_with('#')) in_tree_ = false;
    if (line.empty() || line.starts_with('#')) return;
    if (in_tree_) return tree_.take(line, lines_.number());
    const size_t separator = first_in(line, end_of_key);
    const std::string_view key = line.substr(0, separator);
    std::string_view value = line.substr(std::min(line.size(), key.size() + 1));
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (key == "snapshot") return begin_snapshot(value);
    if (key == "heap_tree") return begin_tree(value);
    for (const auto& [name, member] : texts)
      if (key == name) {
        header_.*member = value;
        return;
      }
    for (const auto& [name, member] : scalars)
      if (key == name) return number(value, now_.*member);
    issues_.add("an unknown field", lines_.number(), line);
  }

  template <class Number>
  void number(std::string_view text, Number& into) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
    if (error == std::errc::result_out_of_range) throw Error("a number is beyond 64 bits");
    if (error != std::errc{} || end != text.data() + text.size())
      issues_.add("not a number", lines_.number(), lines_.line());
  }

  void begin_snapshot(std::string_view text) {
    end_snapshot();
    number(text, now_.number);
    in_snapshot_ = true;
    ++snapshots_;
  }

  void begin_tree(std::string_view kind) {
    now_.tree = kind;
    in_tree_ = kind != "empty";
  }

  void end_snapshot() {
    if (!in_snapshot_) return;
    in_snapshot_ = in_tree_ = false;
    const int64_t sum = tree_.sum();
    now_.rows = tree_.finish();
    if (now_.tree == "empty") {
      const StackId all = profile_.push({}, "[a snapshot without stacks]", FrameKind::note);
      if (now_.heap != 0) now_.rows.emplace_back(all, now_.heap);
    } else if (sum != now_.heap) {
      issues_.add("a tree that is not the sum of the snapshot", lines_.number(),
                  std::to_string(sum) + " and " + std::to_string(now_.heap));
    }
    const MassifSnapshot done = std::exchange(now_, {});
    const WhichSnapshot& want = options_.snapshot;
    if (want.kind == WhichSnapshot::Kind::standard) {
      if (!first_ || better(done, *first_)) first_ = done;
      return;
    }
    if (done.number == want.first) first_ = done;
    if (done.number == want.second) second_ = done;
  }

  void choose() {
    const WhichSnapshot& want = options_.snapshot;
    profile_.meta.title = profile_.meta.command = "massif";
    // The description is massif's options.
    if (header_.description == "(none)") header_.description.clear();
    for (const std::string* text : {&header_.description, &header_.command})
      if (!text->empty()) profile_.meta.command += " " + *text;
    if (tree_.allocated_by().starts_with("(page"))
      profile_.meta.notes.emplace_back("all pages are counted, not the heap alone");
    if (!first_) missing(want.first);
    describe(*first_);
    if (want.kind != WhichSnapshot::Kind::difference) return add(*first_, 1);
    if (!second_) missing(want.second);
    describe(*second_);
    add(*second_, 1);
    add(*first_, -1);
  }

  [[noreturn]] void missing(uint64_t number) {
    lines_.fail("there is no snapshot " + std::to_string(number) + "; it has " +
                std::to_string(snapshots_) + ", from 0 on");
  }

  void add(const MassifSnapshot& snapshot, int64_t sign) {
    for (const auto& [stack, value] : snapshot.rows) {
      int64_t signed_value = 0;
      if (__builtin_mul_overflow(value, sign, &signed_value))
        lines_.fail("a difference leaves the range of 64 bits");
      profile_.add(stack, std::array{signed_value});
    }
  }

  void describe(const MassifSnapshot& of) {
    const std::string unit = header_.time_unit == "i" ? "instructions" : header_.time_unit;
    std::string text = "snapshot " + std::to_string(of.number) + " of " +
                       std::to_string(snapshots_) + (of.tree == "peak" ? ", the peak," : "") +
                       " at " + with_commas(of.time) + " " + unit + ": " + with_commas(of.heap) +
                       " B";
    if (of.extra != 0)
      text += "; beside it " + with_commas(of.extra) + " B of the heap's own administration";
    if (of.stacks != 0) text += "; beside it " + with_commas(of.stacks) + " B of stacks";
    if (of.tree == "empty" && of.heap != 0) text += "; massif kept no stacks of it";
    profile_.meta.notes.push_back(std::move(text));
  }

  const ReadOptions& options_;
  Lines lines_;
  Profile profile_;
  Issues issues_;
  MassifTree tree_;
  MassifHeader header_;
  MassifSnapshot now_;
  std::optional<MassifSnapshot> first_, second_;
  size_t snapshots_ = 0;
  bool in_snapshot_ = false, in_tree_ = false;
};

}  // namespace

bool is_massif(std::string_view head) {
  return head.starts_with("desc: ") && head.find("\ncmd: ") != std::string_view::npos &&
         head.find("\ntime_unit: ") != std::string_view::npos;
}

Profile read_massif(Source& source, const ReadOptions& options) {
  return MassifReader(source, options).run();
}

}  // namespace memflame
