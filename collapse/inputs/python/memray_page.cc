// SPDX-License-Identifier: BSD-2-Clause
// Pages that "memray flamegraph" writes. A line of their script, "const packed_data = {…};", has a
// tree of calls as columns: each node's name, its children, and its figures with those of its
// children. A page over time (--temporal) has intervals of allocations instead of figures.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "collapse/inputs/python/memray_frame.h"
#include "collapse/inputs/text_frame.h"
#include "collapse/text/issues.h"
#include "collapse/text/json_tokens.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

using PageToken = JsonTokens::Kind;
using PageNumbers = std::vector<int64_t>;

constexpr std::string_view page_data_mark = "const packed_data = ";
constexpr std::string_view page_title_mark = "<title>memray - ";
constexpr std::string_view page_command_mark = "Command line: <code>";

std::string_view page_part(std::string_view text, std::string_view begin, std::string_view end) {
  const size_t at = text.find(begin);
  if (at == text.npos) return {};
  text.remove_prefix(at + begin.size());
  return text.substr(0, text.find(end));
}

// When blocks were allocated and freed, in snapshots; those of a stack in a row.
struct PageInterval {
  int64_t begin = 0, end = 0, node = 0, count = 0, bytes = 0;
  bool freed = false;
};

class MemrayPageReader {
 public:
  MemrayPageReader(Source& source, const ReadOptions& options)
      : source_(source), options_(options), page_(source.all()), json_(data()) {}

  Profile run() {
    if (json_.next() != PageToken::begin_object) fail("is not an object");
    while (json_.next() == PageToken::key) take(std::string(json_.text()));
    json_.next();
    const size_t nodes = columns_[function].size();
    if (nodes == 0) fail("has no nodes");
    for (const Column column : {filename, lineno, thread_id})
      if (columns_.at(column).size() != nodes) fail("has columns of different lengths");
    if (children_ != nodes) fail("has columns of different lengths");
    temporal_ ? add_intervals(nodes) : subtract_children(nodes);
    add_all(nodes);
    describe();
    issues_.finish(profile_);
    return std::move(profile_);
  }

 private:
  enum Column : uint8_t {
    function,
    filename,
    lineno,
    name,
    thread_id,
    value,
    n_allocations,
    columns
  };

  [[noreturn]] void fail(const std::string& what) const {
    source_.fail("the data of memray's page " + what);
  }

  std::string data() const {
    const std::string_view text = page_;
    const std::string_view title = page_part(text, page_title_mark, "</title>");
    if (title.find("flamegraph") == title.npos && title.find("flame graph") == title.npos)
      source_.fail("it is a page of memray without stacks (" + std::string(title.substr(0, 60)) +
                   "): give the page of 'memray flamegraph'");
    if (title.find("inverted") != title.npos || text.find("const inverted = true") != text.npos)
      source_.fail("it is an inverted page: make it without --inverted");
    const size_t at = text.find(page_data_mark);
    if (at == text.npos)
      source_.fail("its data are missing, or in the form of memray before 1.7, which is not read");
    std::string_view line = text.substr(at + page_data_mark.size());
    const size_t end = line.find('\n');
    if (end == line.npos) source_.fail("it ends in the middle of its data");
    line = line.substr(0, end);
    line = line.substr(0, line.rfind(';'));
    return std::string(line);
  }

  void take(const std::string& key) {
    if (key == "nodes") return take_nodes();
    if (key == "strings") return take_strings();
    if (key == "intervals") return take_intervals();
    if (key == "high_water_mark_by_snapshot") {
      if (json_.next() == PageToken::begin_array) take_rest(marks_);
      return;
    }
    json_.skip_value();
  }

  void take_nodes() {
    constexpr std::array<std::string_view, columns> names{
        "function", "filename", "lineno", "name", "thread_id", "value", "n_allocations"};
    if (json_.next() != PageToken::begin_object) fail("has no nodes");
    while (json_.next() == PageToken::key) {
      const auto* column = std::find(names.begin(), names.end(), json_.text());
      if (json_.text() == "children") {
        take_children();
      } else if (column != names.end()) {
        if (json_.next() != PageToken::begin_array) fail("has a column that is not a list");
        take_rest(columns_.at(static_cast<size_t>(column - names.begin())));
      } else {
        json_.skip_value();
      }
    }
  }

  // The rest of a list of integers.
  void take_rest(PageNumbers& numbers) {
    numbers.clear();
    while (json_.next() != PageToken::end_array) {
      const auto number = json_.integer();
      if (!number) fail("has something else than integers in a list of integers");
      numbers.push_back(*number);
    }
  }

  void take_children() {
    if (json_.next() != PageToken::begin_array) fail("has a column that is not a list");
    PageNumbers list;
    children_ = 0;
    parents_.clear();
    while (json_.next() != PageToken::end_array) {
      if (json_.kind() != PageToken::begin_array) fail("has a node whose children are not a list");
      take_rest(list);
      for (const int64_t child : list) {
        // A child comes after its parent, and has one.
        const bool later =
            child > static_cast<int64_t>(children_) && child < static_cast<int64_t>(page_.size());
        const auto at = static_cast<size_t>(later ? child : 0);
        if (at >= parents_.size()) parents_.resize(at + 1);
        if (!later || parents_[at] != 0) fail("is not a tree");
        parents_[at] = children_ + 1;
      }
      ++children_;
    }
  }

  void take_strings() {
    if (json_.next() != PageToken::begin_array) fail("has no list of strings");
    while (json_.next() != PageToken::end_array) {
      if (json_.kind() != PageToken::string) fail("has something else among its strings");
      strings_.push_back(profile_.strings.intern(without_html(json_.text())));
    }
  }

  void take_intervals() {
    temporal_ = true;
    if (json_.next() != PageToken::begin_array) fail("has no list of intervals");
    while (json_.next() != PageToken::end_array) {
      if (json_.kind() != PageToken::begin_array) fail("has an interval that is not a list");
      PageInterval interval;
      constexpr std::array fields{&PageInterval::begin, &PageInterval::end, &PageInterval::node,
                                  &PageInterval::count, &PageInterval::bytes};
      for (const auto field : fields) {
        json_.next();
        const auto number = json_.integer();
        const bool open = field == &PageInterval::end && json_.text() == "null";
        if (!number && !open) fail("has an interval that is not of five integers");
        if (number) interval.*field = *number;
        if (field == &PageInterval::end) interval.freed = number.has_value();
      }
      if (json_.next() != PageToken::end_array)
        fail("has an interval that is not of five integers");
      intervals_.push_back(interval);
    }
  }

  // A node's own figures: those of the page include its children's.
  void subtract_children(size_t nodes) {
    for (const Column column : {value, n_allocations}) {
      PageNumbers& own = columns_.at(column);
      if (own.size() != nodes) fail("has columns of different lengths");
      for (size_t child = 1; child < nodes; ++child)
        if (const size_t parent = parent_of(child); parent != 0)
          if (__builtin_sub_overflow(own[parent - 1], own[child], &own[parent - 1]))
            fail("has sums that do not fit in 64 bits");
    }
  }

  // The blocks at the highest peak, or with --leaks those that were not freed.
  void add_intervals(size_t nodes) {
    const auto peak =
        static_cast<int64_t>(std::max_element(marks_.begin(), marks_.end()) - marks_.begin());
    columns_[value].assign(nodes, 0);
    columns_[n_allocations].assign(nodes, 0);
    for (const PageInterval& interval : intervals_) {
      if (interval.node < 0 || interval.node >= static_cast<int64_t>(nodes))
        fail("has an interval of no node");
      const bool counts = marks_.empty()
                              ? !interval.freed
                              : interval.begin <= peak && (!interval.freed || interval.end > peak);
      const auto node = static_cast<size_t>(interval.node);
      if (counts &&
          (__builtin_add_overflow(columns_[value][node], interval.bytes, &columns_[value][node]) ||
           __builtin_add_overflow(columns_[n_allocations][node], interval.count,
                                  &columns_[n_allocations][node])))
        fail("has sums that do not fit in 64 bits");
    }
  }

  // The node that has it as a child, plus 1; 0 if there is none.
  size_t parent_of(size_t node) const { return node < parents_.size() ? parents_[node] : 0; }

  void add_all(size_t nodes) {
    const bool leaks = temporal_ ? marks_.empty() : title().find("leaks") != std::string::npos;
    if (leaks)
      profile_.types = {{"leaked", Unit::bytes}, {"leaked_allocations", Unit::count}};
    else if (temporal_)
      profile_.types = {{"peak", Unit::bytes}, {"peak_allocations", Unit::count}};
    else
      profile_.types = {{"bytes", Unit::bytes}, {"allocations", Unit::count}};
    std::vector<StackId> stacks(nodes);
    for (size_t node = 0; node < nodes; ++node) {
      const size_t parent = parent_of(node);
      if (node != 0 && parent == 0) {
        issues_.add("a node that no other has as a child", 0, std::to_string(node));
        continue;
      }
      // The first is memray itself.
      if (node != 0) stacks[node] = stack_of(node, parent == 1, stacks[parent - 1]);
      const std::array row{columns_[value][node], columns_[n_allocations][node]};
      if (row == std::array<int64_t, 2>{}) continue;
      if (row[0] < 0 || row[1] < 0)
        issues_.add("a node with less than its children", 0, std::to_string(node));
      profile_.add(stacks[node] ? stacks[node] : profile_.push({}, "[no stack]", FrameKind::note),
                   row);
    }
  }

  StackId stack_of(size_t node, bool outermost, StackId caller) {
    const auto push = [&](const Frame& frame) {
      return profile_.stacks.push(caller, profile_.frames.intern(frame));
    };
    const StringId thread = string(thread_id, node);
    if (outermost && options_.tid && thread != profile_.strings.intern("merged thread"))
      caller = push({.function = thread, .module = {}, .file = {}, .kind = FrameKind::process});
    if (columns_[name].size() > node &&
        string(name, node) == profile_.strings.intern("<STACK TOO DEEP>"))
      return profile_.push(caller, "[truncated: more frames than memray draws]", FrameKind::note);
    return push(memray_frame(string(function, node), string(filename, node), columns_[lineno][node],
                             options_));
  }

  StringId string(Column column, size_t node) const {
    const int64_t number = columns_.at(column)[node];
    if (number < 0 || number >= static_cast<int64_t>(strings_.size()))
      fail("uses a string that is missing");
    return strings_[static_cast<size_t>(number)];
  }

  std::string title() const { return without_html(page_part(page_, page_title_mark, "</title>")); }

  void describe() {
    profile_.meta.title = "memray: " + title();
    profile_.meta.command = without_html(page_part(page_, page_command_mark, "</code>"));
  }

  Source& source_;
  const ReadOptions& options_;
  const std::string page_;
  JsonTokens json_;
  Profile profile_;
  Issues issues_;
  std::array<PageNumbers, columns> columns_;
  std::vector<size_t> parents_;  // plus 1; 0 = none
  size_t children_ = 0;          // lists of children
  std::vector<StringId> strings_;
  bool temporal_ = false;
  std::vector<PageInterval> intervals_;
  PageNumbers marks_;
};

}  // namespace

bool is_memray_page(std::string_view head) {
  head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
  return head.starts_with("<!DOCTYPE html") && head.find(page_title_mark) != head.npos;
}

Profile read_memray_page(Source& source, const ReadOptions& options) {
  return MemrayPageReader(source, options).run();
}

}  // namespace memflame
