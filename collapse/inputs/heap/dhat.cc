// SPDX-License-Identifier: BSD-2-Clause
// DHAT's JSON (valgrind --tool=dhat, and Rust's dhat): "pps" are stacks with their values; their
// frames are indices of names in "ftbl".
#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "collapse/inputs/heap/valgrind_label.h"
#include "collapse/inputs/readers.h"
#include "collapse/text/issues.h"
#include "collapse/text/json_tokens.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

using Token = JsonTokens::Kind;

struct Figure {
  std::string_view key, column;
  Unit unit;
};
// "max" is each stack's own maximum, whenever it was; "peak" is the value at the moment of the
// highest sum. "lifetime" is the sum of all blocks' lifetimes, in the unit that "tu" names.
constexpr std::array<Figure, 11> figures{{{"tb", "total", Unit::bytes},
                                          {"tbk", "total_blocks", Unit::count},
                                          {"mb", "max", Unit::bytes},
                                          {"mbk", "max_blocks", Unit::count},
                                          {"gb", "peak", Unit::bytes},
                                          {"gbk", "peak_blocks", Unit::count},
                                          {"eb", "end", Unit::bytes},
                                          {"ebk", "end_blocks", Unit::count},
                                          {"rb", "read", Unit::bytes},
                                          {"wb", "written", Unit::bytes},
                                          {"tl", "lifetime", Unit::count}}};

// All program points in flat arrays: some files have millions.
struct Points {
  std::vector<uint32_t> frames;  // leaf first, of one point after the other
  std::vector<size_t> ends;      // in frames
  std::vector<std::array<int64_t, figures.size()>> values;
};

class DhatReader {
 public:
  DhatReader(Source& source, const ReadOptions& options)
      : source_(source), options_(options), json_(source) {}

  Profile run() {
    if (json_.next() != Token::begin_object) json_.fail("not an object of DHAT's,");
    while (json_.next() == Token::key) take(std::string(json_.text()));
    json_.next();
    if (points_.ends.empty()) source_.fail("no stack is in it (\"pps\" is empty or missing)");
    set_columns();
    add_all();
    describe();
    issues_.finish(profile_);
    return std::move(profile_);
  }

 private:
  void take(const std::string& key) {
    if (key == "dhatFileVersion") return check_version();
    if (key == "pps") return take_list([&] { take_point(); });
    if (key == "ftbl") return take_list([&] { take_frame(); });
    if (key == "mode")
      mode_ = json_.take_string();
    else if (key == "cmd")
      command_ = json_.take_string();
    else if (key == "tu")
      time_unit_ = json_.take_string();
    else if (key == "bsu")
      bytes_unit_ = json_.take_string();
    else if (key == "te")
      end_time_ = json_.take_integer().value_or(0);
    else if (key == "tg")
      peak_time_ = json_.take_integer().value_or(0);
    else
      json_.skip_value();
  }

  void check_version() {
    constexpr int64_t known = 2;
    const int64_t version = json_.take_integer().value_or(0);
    if (version != known)
      source_.fail("its version of DHAT's format is " + std::to_string(version) +
                   "; known is 2 (valgrind 3.17 and later)");
  }

  // Calls `item` for each element, whose first token has been taken.
  template <class Item>
  void take_list(Item item) {
    if (json_.next() != Token::begin_array) {
      json_.skip();
      return issues_.add("not a list", 0, "of DHAT's");
    }
    while (json_.next() != Token::end_array) item();
  }

  void take_frame() {
    // "[root]" is above everything and tells nothing.
    names_.push_back(
        valgrind_frame(profile_, json_.text() == "[root]" ? "" : json_.text(), options_));
    json_.skip();
  }

  void take_point() {
    if (!is_open_object()) return;
    auto& values = points_.values.emplace_back();
    while (json_.next() == Token::key) {
      const auto* figure = std::find_if(figures.begin(), figures.end(),
                                        [&](const Figure& f) { return f.key == json_.text(); });
      if (figure != figures.end()) {
        const auto index = static_cast<size_t>(figure - figures.begin());
        take_figure(index, values[index]);
      } else if (json_.text() == "fs") {
        take_list([&] { take_frame_number(); });
      } else {
        json_.skip_value();
      }
    }
    points_.ends.push_back(points_.frames.size());
  }

  bool is_open_object() {
    if (json_.kind() == Token::begin_object) return true;
    json_.skip();
    issues_.add("not a stack with figures", 0, json_.text());
    return false;
  }

  void take_figure(size_t index, int64_t& value) {
    const auto number = json_.take_integer();
    if (!number) return issues_.add("not an integer", 0, figures[index].key);
    value = *number;
    seen_[index] = true;
  }

  // add_all() checks the number: the names come last in the file.
  void take_frame_number() {
    constexpr int64_t none = std::numeric_limits<uint32_t>::max();
    const int64_t number = json_.integer().value_or(none);
    json_.skip();
    points_.frames.push_back(static_cast<uint32_t>(number < 0 || number > none ? none : number));
  }

  void set_columns() {
    const bool bytes = mode_ != "ad-hoc" && mode_ != "rust-ad-hoc";
    for (size_t i = 0; i < figures.size(); ++i) {
      if (!seen_[i]) continue;
      if (figures[i].column == "peak") profile_.shown = profile_.types.size();
      const Unit unit = bytes ? figures[i].unit : Unit::count;
      profile_.types.push_back({std::string(figures[i].column), unit});
    }
    if (profile_.types.empty()) source_.fail("its stacks have no figures (\"tb\", \"gb\", …)");
  }

  void add_all() {
    std::vector<ValgrindFrame> stack;
    std::vector<int64_t> row;
    size_t begin = 0;
    for (size_t point = 0; point < points_.ends.size(); ++point) {
      const size_t end = points_.ends[point];
      stack.clear();
      for (size_t i = end; i-- > begin;) stack.push_back(frame(points_.frames[i]));
      begin = end;
      row.clear();
      for (size_t i = 0; i < figures.size(); ++i)
        if (seen_[i]) row.push_back(points_.values[point][i]);
      const StackId at = push_frames(profile_, stack);
      profile_.add(at ? at : profile_.push({}, "[no stack]", FrameKind::note), row);
    }
  }

  ValgrindFrame frame(uint32_t number) {
    if (number < names_.size()) return names_[number];
    issues_.add("a frame that is not in \"ftbl\"", 0, std::to_string(number));
    return valgrind_frame(profile_, "???", options_);
  }

  void describe() {
    Meta& meta = profile_.meta;
    meta.title = "dhat";
    if (!command_.empty()) meta.command = "dhat " + command_;
    if (peak_time_ != 0)
      meta.notes.push_back("'peak' is at " + with_commas(peak_time_) + " of " +
                           with_commas(end_time_) + " " + time_unit_ +
                           "; 'max' is each stack's own maximum, so their sum is not a moment's");
    if (mode_ != "heap" && !mode_.empty()) meta.notes.push_back("DHAT's mode was " + mode_);
    if (!bytes_unit_.empty() && bytes_unit_ != "bytes")
      meta.notes.push_back("'total' counts " + bytes_unit_);
  }

  Source& source_;
  const ReadOptions& options_;
  JsonTokens json_;
  Profile profile_;
  Issues issues_;
  Points points_;
  std::array<bool, figures.size()> seen_{};
  std::vector<ValgrindFrame> names_;
  std::string mode_, command_, time_unit_, bytes_unit_;
  int64_t end_time_ = 0, peak_time_ = 0;
};

}  // namespace

bool is_dhat(std::string_view head) { return begins_as_json(head, R"({"dhatFileVersion":)"); }

Profile read_dhat(Source& source, const ReadOptions& options) {
  return DhatReader(source, options).run();
}

}  // namespace memflame
