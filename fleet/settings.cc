// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/settings.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/nearest.h"
#include "core/units.h"

namespace memflame {

struct Setting::Node {
  enum class Kind : uint8_t { null, flag, number, text, list, members };
  struct Member;

  Kind kind = Kind::null;
  bool flag = false;
  double number = 0;
  std::string text;
  std::vector<std::shared_ptr<const Node>> items;  // of a list, or the values of members
  std::vector<std::string> names;                  // of members
  std::string file;
  std::string path;  // "rules[0].window"; "" = the file as a whole
  size_t line = 0;
};

namespace {

using nlohmann::json;
using Node = Setting::Node;
using Kind = Node::Kind;

constexpr size_t most_depth = 100;
constexpr size_t most_text = 200;  // of a value in an error

// Counts the lines of the text that the parser has read.
struct Lines {
  size_t line = 1;
  bool at_end_of_line = false;  // the letter read last ends a line
};

class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, Lines* lines) : at_(at), lines_(lines) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    lines_->at_end_of_line = *at_ == '\n';
    if (lines_->at_end_of_line) ++lines_->line;
    ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  Lines* lines_;
};

// Makes nodes of what the parser finds.
class Builder : public nlohmann::json_sax<json> {
 public:
  Builder(std::string file, const Lines& lines) : file_(std::move(file)), lines_(lines) {}

  std::shared_ptr<const Node> result() const { return root_; }

  bool null() override { return add(made(Kind::null)); }
  bool boolean(bool value) override {
    const auto node = made(Kind::flag);
    node->flag = value;
    return add(node);
  }
  bool number_integer(int64_t value) override { return add_number(static_cast<double>(value)); }
  bool number_unsigned(uint64_t value) override { return add_number(static_cast<double>(value)); }
  bool number_float(double value, const std::string&) override { return add_number(value); }
  bool string(std::string& value) override {
    const auto node = made(Kind::text);
    node->text = value;
    return add(node);
  }
  bool binary(json::binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Kind::members); }
  bool key(std::string& name) override {
    Node& node = *open_.back();
    if (std::find(node.names.begin(), node.names.end(), name) != node.names.end())
      fail("\"" + name + "\" is there twice");
    node.names.push_back(name);
    key_line_ = lines_.line;
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(size_t) override { return open(Kind::list); }
  bool end_array() override { return close(); }
  bool parse_error(size_t, const std::string&, const json::exception& problem) override {
    // "[json.exception.parse_error.101] parse error at line 3, column 5: …"
    std::string words = problem.what();
    const size_t place = words.find(": ");
    if (place != std::string::npos) words.erase(0, place + 2);
    fail("this is not JSON: " + words);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(file_ + ":" + std::to_string(lines_.line) + ": " + what);
  }

  std::shared_ptr<Node> made(Kind kind) {
    auto node = std::make_shared<Node>();
    node->kind = kind;
    node->file = file_;
    node->line = lines_.line;
    if (open_.empty()) return node;
    const Node& outer = *open_.back();
    if (outer.kind == Kind::members) {
      node->line = key_line_;
      node->path = outer.path + (outer.path.empty() ? "" : ".") + outer.names.back();
    } else {
      node->path = outer.path + "[" + std::to_string(outer.items.size()) + "]";
    }
    return node;
  }

  bool add(const std::shared_ptr<Node>& node) {
    if (open_.empty())
      root_ = node;
    else
      open_.back()->items.push_back(node);
    return true;
  }

  bool add_number(double value) {
    const auto node = made(Kind::number);
    node->number = value;
    // The parser has read one letter further to know where the number ends.
    const bool is_member = !open_.empty() && open_.back()->kind == Kind::members;
    if (!is_member && lines_.at_end_of_line) --node->line;
    return add(node);
  }

  bool open(Kind kind) {
    if (open_.size() == most_depth) fail("values lie in each other more than 100 deep");
    const auto node = made(kind);
    add(node);
    open_.push_back(node);
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::string file_;
  const Lines& lines_;
  std::shared_ptr<const Node> root_;
  std::vector<std::shared_ptr<Node>> open_;
  size_t key_line_ = 1;
};

std::string in_quotes(std::string_view text) {
  return "\"" + std::string(text.substr(0, most_text)) + "\"";
}

// "it is the text "x"", for errors.
std::string in_words(const Node& node) {
  switch (node.kind) {
    case Kind::null:
      return "it is null";
    case Kind::flag:
      return node.flag ? "it is true" : "it is false";
    case Kind::number:
      return "it is a number";
    case Kind::text:
      return "it is the text " + in_quotes(node.text);
    case Kind::list:
      return "it is a list";
    case Kind::members:
      break;
  }
  return "it is a { … }";
}

std::string listed(std::initializer_list<std::string_view> words) {
  std::string list;
  for (const std::string_view word : words) list += (list.empty() ? "" : ", ") + std::string(word);
  return list;
}

std::string plain_number(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

Setting Setting::read(std::string_view text, const std::string& name) {
  Lines lines;
  Builder builder(name, lines);
  json::sax_parse(CountingIterator(text.data(), &lines),
                  CountingIterator(text.data() + text.size(), &lines), &builder,
                  json::input_format_t::json, true, true);
  return Setting(builder.result());
}

void Setting::fail(const std::string& what) const {
  throw Error(node_->file + ":" + std::to_string(node_->line) + ": " +
              (node_->path.empty() ? "" : node_->path + ": ") + what);
}

bool Setting::is_text() const { return node_->kind == Kind::text; }

const std::string& Setting::text() const {
  if (node_->kind != Kind::text) fail("expected a text in quotes, but " + in_words(*node_));
  if (node_->text.find('\0') != std::string::npos) fail("a text cannot have a zero byte");
  return node_->text;
}

double Setting::number() const {
  if (node_->kind != Kind::number) fail("expected a number, but " + in_words(*node_));
  return node_->number;
}

double Setting::number(double least, double most) const {
  const double value = number();
  if (!(value >= least && value <= most))
    fail("expected a number from " + plain_number(least) + " to " + plain_number(most));
  return value;
}

bool Setting::flag() const {
  if (node_->kind != Kind::flag) fail("expected true or false, but " + in_words(*node_));
  return node_->flag;
}

uint64_t Setting::bytes() const {
  std::optional<uint64_t> value;
  if (node_->kind == Kind::text) value = byte_count(node_->text);
  if (node_->kind == Kind::number && node_->number >= 0 && node_->number < std::ldexp(1.0, 63))
    value = static_cast<uint64_t>(node_->number);
  if (!value) fail("expected a size like 4096, \"128M\" or \"2G\", but " + in_words(*node_));
  return *value;
}

double Setting::seconds() const {
  std::optional<double> value;
  if (node_->kind == Kind::text) value = parse_duration(node_->text);
  if (node_->kind == Kind::number && node_->number >= 0) value = node_->number;
  if (!value)
    fail("expected a length of time like \"60s\", \"10m\" or \"7d\", but " + in_words(*node_));
  return *value;
}

std::vector<Setting> Setting::list() const {
  if (node_->kind != Kind::list) fail("expected a list in [ ], but " + in_words(*node_));
  std::vector<Setting> items;
  for (const auto& item : node_->items) items.push_back(Setting(item));
  return items;
}

std::vector<std::string> Setting::texts() const {
  if (is_text()) return {text()};
  if (node_->kind != Kind::list)
    fail("expected a text or a list of texts, but " + in_words(*node_));
  std::vector<std::string> all;
  for (const Setting& item : list()) all.push_back(item.text());
  return all;
}

std::vector<std::pair<std::string, Setting>> Setting::members() const {
  if (node_->kind != Kind::members) fail("expected named values in { }, but " + in_words(*node_));
  std::vector<std::pair<std::string, Setting>> all;
  for (size_t i = 0; i < node_->items.size(); ++i)
    all.emplace_back(node_->names[i], Setting(node_->items[i]));
  return all;
}

std::optional<Setting> Setting::find(std::string_view name) const {
  if (node_->kind != Kind::members) fail("expected named values in { }, but " + in_words(*node_));
  const auto at = std::find(node_->names.begin(), node_->names.end(), name);
  if (at == node_->names.end()) return std::nullopt;
  return Setting(node_->items[static_cast<size_t>(at - node_->names.begin())]);
}

Setting Setting::get(std::string_view name) const {
  std::optional<Setting> value = find(name);
  if (!value) fail("\"" + std::string(name) + "\" is missing");
  return *value;
}

void Setting::allow(std::initializer_list<std::string_view> names) const {
  for (const auto& [name, value] : members()) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string_view near = nearest_name(name, std::vector<std::string_view>(names));
    value.fail("there is no such setting" +
               (near.empty() ? "; there are: " + listed(names)
                             : "; did you mean \"" + std::string(near) + "\"?"));
  }
}

const std::string& Setting::one_of(std::initializer_list<std::string_view> words) const {
  const std::string& word = text();
  if (std::find(words.begin(), words.end(), word) == words.end())
    fail("expected one of " + listed(words) + ", not " + in_quotes(word));
  return word;
}

}  // namespace memflame
