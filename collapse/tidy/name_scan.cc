// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/tidy/name_scan.h"

#include <algorithm>
#include <array>

namespace memflame {
namespace {

constexpr std::array<std::string_view, 7> atoms{
    "(anonymous namespace)", "(anonymous class)", "(anonymous struct)", "(anonymous union)",
    "(anonymous enum)",      "(anonymous)",       "(unnamed)"};

// Longest first: the first one with a sensible continuation counts.
constexpr std::array<std::string_view, 38> operators{
    "<=>", "<<=", ">>=", "->*", "()", "[]", "->", "++", "--", "&&", "||", "==", "!=",
    "<=",  ">=",  "<<",  ">>",  "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "+",
    "-",   "*",   "/",   "%",   "^",  "&",  "|",  "~",  "!",  "=",  "<",  ">"};

constexpr std::string_view operator_keyword = "operator";

bool may_follow_operator(std::string_view rest) {
  constexpr std::string_view followers = "(< [@.:{>),_;#}";
  return rest.empty() || followers.find(rest.front()) != std::string_view::npos;
}

// "operator new[]", "operator delete", or the beginning of "operator std::string".
size_t named_operator(std::string_view text) {
  for (const std::string_view name : {"operator new", "operator delete"}) {
    if (!text.starts_with(name)) continue;
    const std::string_view rest = text.substr(name.size());
    if (rest.starts_with("[]")) return name.size() + 2;
    if (rest.empty() || !is_identifier(rest.front())) return name.size();
  }
  return operator_keyword.size() + 1;
}

// The length of the operator's name at the beginning of `text`; 0 if there is none.
size_t operator_length(std::string_view text) {
  if (!text.starts_with(operator_keyword)) return 0;
  const std::string_view rest = text.substr(operator_keyword.size());
  if (rest.empty() || is_identifier(rest.front())) return 0;
  if (rest.front() == ' ') return rest.size() == 1 ? 0 : named_operator(text);
  if (rest.front() == ',') return operator_keyword.size() + 1;
  if (rest.starts_with("\"\"")) return operator_keyword.size() + 2;
  for (const std::string_view symbol : operators)
    if (rest.starts_with(symbol) && may_follow_operator(rest.substr(symbol.size())))
      return operator_keyword.size() + symbol.size();
  return 0;
}

struct Bracket {
  char open, close;
  SpanKind kind;
};
constexpr std::array<Bracket, 4> brackets{{{'<', '>', SpanKind::angle},
                                           {'(', ')', SpanKind::round},
                                           {'[', ']', SpanKind::square},
                                           {'{', '}', SpanKind::curly}}};

class Scanner {
 public:
  explicit Scanner(std::string_view name) : name_(name) {}

  std::optional<std::vector<NameSpan>> run() {
    while (at_ < name_.size())
      if (!step()) return std::nullopt;
    if (!open_.empty()) return std::nullopt;
    // Angles that turned out to be less-than signs.
    std::erase_if(spans_, [](const NameSpan& span) { return span.end == 0; });
    return std::move(spans_);
  }

 private:
  bool step() {
    const char c = name_[at_];
    if (is_identifier(c)) {
      skip_word();
      return true;
    }
    if (c == '(')
      for (const std::string_view atom : atoms)
        if (name_.substr(at_).starts_with(atom)) {
          add(SpanKind::atom, atom.size());
          return true;
        }
    for (const Bracket& bracket : brackets) {
      if (c == bracket.open) open(bracket.kind);
      if (c == bracket.close && !close(bracket.kind)) return false;
    }
    ++at_;
    return true;
  }

  void skip_word() {
    const size_t length =
        name_[at_] == operator_keyword[0] ? operator_length(name_.substr(at_)) : 0;
    if (length != 0) {
      add(SpanKind::operator_name, length);
      return;
    }
    while (at_ < name_.size() && is_identifier(name_[at_])) ++at_;
  }

  void add(SpanKind kind, size_t length) {
    spans_.push_back({at_, at_ + length, kind});
    at_ += length;
  }

  void open(SpanKind kind) {
    open_.push_back(spans_.size());
    spans_.push_back({at_, 0, kind});
  }

  bool close(SpanKind kind) {
    if (kind == SpanKind::angle) {
      const bool arrow = at_ > 0 && name_[at_ - 1] == '-';
      if (arrow) return true;
      if (open_.empty()) return false;
      // Inside other brackets it is a greater-than sign.
      if (spans_[open_.back()].kind != SpanKind::angle) return true;
    }
    while (!open_.empty() && spans_[open_.back()].kind != kind) {
      if (spans_[open_.back()].kind != SpanKind::angle) return false;
      open_.pop_back();  // it was a less-than sign
    }
    if (open_.empty()) return false;
    spans_[open_.back()].end = at_ + 1;
    open_.pop_back();
    return true;
  }

  std::string_view name_;
  size_t at_ = 0;
  std::vector<NameSpan> spans_;
  std::vector<size_t> open_;  // those of spans_ without an end yet
};

}  // namespace

std::optional<std::vector<NameSpan>> scan_name(std::string_view name) {
  return Scanner(name).run();
}

}  // namespace memflame
