// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/select/lexer.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace memflame {
namespace {

constexpr size_t longest_text = 16'384;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }

// Longer operator_signs first.
constexpr std::array<std::string_view, 15> operator_signs{
    "!=", "!~", "<=", ">=", "..", "(", ")", "+", "-", "&", "=", "<", ">", "~", ","};

// What people of other languages write.
struct ForeignSign {
  std::string_view theirs, ours;
};
constexpr std::array foreign_signs{ForeignSign{"&&", "and"}, ForeignSign{"||", "or"},
                                   ForeignSign{"==", "="},   ForeignSign{"=~", "~"},
                                   ForeignSign{"<>", "!="},  ForeignSign{"|", "+"}};

class Lexer {
 public:
  explicit Lexer(const Expression& expression) : expression_(expression), text_(expression.text) {}

  std::vector<SelectToken> run() {
    if (text_.size() > longest_text)
      throw Error(expression_.label + ": the selection is longer than 16 KiB", ExitCode::usage);
    std::vector<SelectToken> tokens;
    while (true) {
      while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
      tokens.push_back(next());
      if (tokens.back().kind == SelectToken::Kind::end) return tokens;
    }
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

  char ahead(size_t steps) const { return at_ + steps < text_.size() ? text_[at_ + steps] : '\0'; }

  SelectToken next() {
    if (at_ == text_.size()) return token(SelectToken::Kind::end, 0);
    const char c = text_[at_];
    if (is_letter(c)) return token(SelectToken::Kind::word, word_length(is_letter));
    if (is_decimal_digit(c)) return token(SelectToken::Kind::number, word_length(is_decimal_digit));
    if (c == '"' || c == '\'') return string();
    const std::string_view rest = text_.substr(at_);
    for (const ForeignSign& sign : foreign_signs)
      if (rest.starts_with(sign.theirs))
        fail_at(expression_, at_,
                "'" + std::string(sign.theirs) + "' is '" + std::string(sign.ours) + "' here");
    for (const std::string_view sign : operator_signs)
      if (rest.starts_with(sign)) return token(SelectToken::Kind::sign, sign.size());
    if (c == '!') fail_at(expression_, at_, "'!' is 'not' here");
    if (c == '/') fail_at(expression_, at_, "regular expressions are written in quotes: \"...\"");
    fail_at(expression_, at_, "a selection has no such character");
  }

  // Letters, digits and '%', and dots between them: a dot belongs to the word only if what it joins
  // is of the word's own kind, so that "start..end" and "1s..2s" are three tokens.
  size_t word_length(bool (*joined)(char)) const {
    size_t length = 1;
    while (true) {
      const char c = ahead(length);
      if (is_letter(c) || is_decimal_digit(c) || (c == '%' && joined == is_decimal_digit) ||
          (c == '.' && joined(ahead(length + 1))))
        ++length;
      else
        return length;
    }
  }

  SelectToken string() {
    const char quote = text_[at_];
    std::string value;
    size_t length = 1;
    while (true) {
      const char c = ahead(length);
      if (at_ + length >= text_.size()) fail_at(expression_, at_, "the string does not end");
      ++length;
      if (c == quote) break;
      if (c == '\\' && at_ + length < text_.size()) {
        const char escaped = ahead(length++);
        if (escaped != quote) value += c;
        value += escaped;
      } else {
        value += c;
      }
    }
    SelectToken made = token(SelectToken::Kind::string, length);
    made.value = std::move(value);
    return made;
  }

  SelectToken token(SelectToken::Kind kind, size_t length) {
    SelectToken made{
        .kind = kind, .text = text_.substr(at_, length), .at = static_cast<uint32_t>(at_)};
    at_ += length;
    return made;
  }

  const Expression& expression_;
  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::vector<SelectToken> tokens_of(const Expression& expression) { return Lexer(expression).run(); }

void fail_at(const Expression& expression, size_t at, const std::string& what) {
  // Long texts are cut around the place.
  constexpr size_t shown_before = 48, shown_after = 24;
  const std::string_view text = expression.text;
  const auto continues = [&](size_t i) {  // a character of UTF-8
    return i < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U;
  };
  at = std::min(at, text.size());
  while (at > 0 && continues(at)) --at;
  size_t first = at > shown_before ? at - shown_before : 0;
  size_t last = std::min(text.size(), at + shown_after);
  while (continues(first)) ++first;
  while (continues(last)) ++last;
  std::string shown = first > 0 ? "..." : "";
  size_t before = shown.size(), column = 1;
  for (size_t i = 0; i < at; ++i)
    if (!continues(i)) ++column;
  for (size_t i = first; i < last; ++i) {
    const bool is_control = static_cast<unsigned char>(text[i]) < 0x20 || text[i] == 0x7f;
    shown += is_control ? ' ' : text[i];
    if (i < at && !continues(i)) ++before;
  }
  if (last < text.size()) shown += "...";
  throw Error(expression.label + ", column " + std::to_string(column) + ": " + what + "\n  " +
                  shown + "\n  " + std::string(before, ' ') + "^",
              ExitCode::usage, Error::Form::lines);
}

}  // namespace memflame
