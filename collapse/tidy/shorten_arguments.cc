// SPDX-License-Identifier: BSD-2-Clause
// void f<int>(int)::g(char) const -> f<int>::g
#include <string>

#include "collapse/tidy/name_scan.h"
#include "collapse/tidy/names.h"

namespace memflame {
namespace {

// What may stand between the arguments and the end of a method's name.
size_t qualifiers_end(std::string_view name, size_t at) {
  while (true) {
    const std::string_view rest = name.substr(at);
    size_t length = 0;
    for (const std::string_view word :
         {" const", " volatile", " noexcept", " restrict", " &&", " &", "&&", "&"})
      if (rest.starts_with(word) &&
          (rest.size() == word.size() || !is_identifier(rest[word.size()]))) {
        length = word.size();
        break;
      }
    if (length == 0) return at;
    at += length;
  }
}

bool ends_in_keyword(std::string_view text) {
  constexpr size_t longest = 16;
  size_t begin = text.size();
  while (begin > 0 && text.size() - begin < longest && is_identifier(text[begin - 1])) --begin;
  const std::string_view last = text.substr(begin);
  for (const std::string_view keyword :
       {"decltype", "sizeof", "alignof", "typeof", "noexcept", "__attribute__", "requires"})
    if (last == keyword) return true;
  return false;
}

bool begins_thunk(std::string_view text) {
  return text.ends_with(" to ") || text.ends_with(" for ") || text.ends_with(" in ");
}

class WithoutArguments {
 public:
  WithoutArguments(std::string_view name, const std::vector<NameSpan>& spans)
      : name_(name), spans_(spans) {}

  std::string run() {
    for (const NameSpan& span : spans_) {
      if (span.begin < at_) continue;  // inside one that is done
      copy_text(span.begin);
      if (is_arguments(span)) {
        at_ = qualifiers_end(name_, span.end);
        continue;
      }
      if (is_declarator(span)) return std::string(name_);
      if (span.kind == SpanKind::operator_name) operator_end_ = span.end;
      named_ |= span.kind == SpanKind::operator_name;
      copy(span.end);
    }
    copy_text(name_.size());
    // Only functions made from templates have their result in front.
    if (has_result_ && !begins_thunk(std::string_view(out_).substr(0, name_begin_)))
      out_.erase(0, name_begin_);
    return std::move(out_);
  }

 private:
  void copy(size_t end) {
    out_ += name_.substr(at_, end - at_);
    at_ = end;
  }

  // Text outside of brackets: a blank ends what stands before the name.
  void copy_text(size_t end) {
    const size_t blank = name_.substr(at_, end - at_).rfind(' ');
    if (!named_ && blank != std::string_view::npos) name_begin_ = out_.size() + blank + 1;
    copy(end);
  }

  bool is_arguments(const NameSpan& span) {
    if (span.kind != SpanKind::round || out_.empty()) return false;
    constexpr std::string_view ends = ">]})*&";
    const char last = out_.back();
    const bool after_operator = operator_end_ == span.begin;
    if (!after_operator && ends.find(last) == std::string_view::npos &&
        (!is_identifier(last) || ends_in_keyword(out_)))
      return false;
    has_result_ |= last == '>' && !after_operator;
    named_ = true;
    return true;
  }

  // "void (*f(int))(char)": a function that returns a function pointer.
  bool is_declarator(const NameSpan& span) const {
    const char inside = name_[span.begin + 1];
    return span.kind == SpanKind::round && out_.ends_with(' ') && (inside == '*' || inside == '&');
  }

  std::string_view name_;
  const std::vector<NameSpan>& spans_;
  std::string out_;
  size_t at_ = 0;
  size_t operator_end_ = 0;  // of the last operator's name; 0 = none
  size_t name_begin_ = 0;    // in out_
  bool named_ = false;       // the name has begun: blanks belong to it
  bool has_result_ = false;
};

}  // namespace

std::string shorten_arguments(std::string_view name) {
  const std::optional<std::vector<NameSpan>> spans = scan_name(name);
  return spans ? WithoutArguments(name, *spans).run() : std::string(name);
}

}  // namespace memflame
