// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/text/json_tokens.h"

#include <charconv>
#include <utility>

#include "collapse/text/json_number.h"
#include "core/error.h"
#include "core/utf8.h"

namespace memflame {
namespace {

constexpr unsigned replacement_character = 0xfffd;

bool is_blank(int c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

bool is_number_part(int c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

bool is_high(unsigned code) { return code >= 0xd800 && code < 0xdc00; }
bool is_low(unsigned code) { return code >= 0xdc00 && code < 0xe000; }

}  // namespace

bool begins_as_json(std::string_view text, std::string_view begin) {
  for (const char c : text) {
    if (begin.empty()) return true;
    if (is_blank(c)) continue;
    if (c != begin[0]) return false;
    begin.remove_prefix(1);
  }
  return begin.empty();
}

bool JsonTokens::fill() {
  if (source_ == nullptr) return false;
  before_ += buffer_.size();
  buffer_.resize(block);
  buffer_.resize(source_->read(buffer_.data(), buffer_.size()));
  at_ = 0;
  return !buffer_.empty();
}

void JsonTokens::fail(const std::string& what) const {
  const std::string where = what + " at byte " + std::to_string(before_ + at_);
  if (source_ == nullptr) throw Error(where);
  source_->fail(where);
}

void JsonTokens::unexpected(int c) const {
  if (c == no_byte) fail("the JSON ends in the middle,");
  fail("this is not JSON:" +
       (c > ' ' && c < 127 ? std::string(" '") + static_cast<char>(c) + "'" : " a byte"));
}

int JsonTokens::peek_behind_blanks() {
  int c = peek();
  for (; is_blank(c); c = peek()) ++at_;
  return c;
}

JsonTokens::Kind JsonTokens::next() {
  int c = peek_behind_blanks();
  if (open_.empty() && has_values_) {
    if (c != no_byte) unexpected(c);
    return kind_ = Kind::end;
  }
  if (after_key_ || open_.empty()) return kind_ = value(c);
  if (c == '}' || c == ']') return kind_ = close(static_cast<char>(c));
  if (has_values_) {
    if (c != ',') unexpected(c);
    ++at_;
    c = peek_behind_blanks();
  }
  if (open_.back() == '[') return kind_ = value(c);
  if (c != '"') unexpected(c);
  string();
  c = peek_behind_blanks();
  if (c != ':') unexpected(c);
  ++at_;
  after_key_ = true;
  return kind_ = Kind::key;
}

JsonTokens::Kind JsonTokens::close(char bracket) {
  if ((bracket == '}') != (open_.back() == '{')) unexpected(bracket);
  ++at_;
  open_.pop_back();
  has_values_ = true;
  return bracket == '}' ? Kind::end_object : Kind::end_array;
}

JsonTokens::Kind JsonTokens::value(int c) {
  after_key_ = false;
  if (c == '{') return open('{', Kind::begin_object);
  if (c == '[') return open('[', Kind::begin_array);
  has_values_ = true;
  if (c == '"') {
    string();
    return Kind::string;
  }
  if (c == '-' || (c >= '0' && c <= '9')) return number();
  return word();
}

JsonTokens::Kind JsonTokens::open(char bracket, Kind kind) {
  ++at_;
  open_.push_back(bracket);
  has_values_ = false;
  return kind;
}

JsonTokens::Kind JsonTokens::number() {
  text_.clear();
  for (int c = peek(); is_number_part(c); c = peek()) {
    const size_t begin = at_;
    while (at_ < buffer_.size() && is_number_part(static_cast<unsigned char>(buffer_[at_]))) ++at_;
    text_.append(buffer_, begin, at_ - begin);
  }
  if (!is_json_number(text_)) fail("this is not JSON: '" + text_.substr(0, 40) + "'");
  return Kind::number;
}

JsonTokens::Kind JsonTokens::word() {
  constexpr size_t longest = 5;
  text_.clear();
  int c = peek();
  for (; c >= 'a' && c <= 'z' && text_.size() <= longest; c = peek()) {
    text_ += static_cast<char>(c);
    ++at_;
  }
  if (text_ != "true" && text_ != "false" && text_ != "null") unexpected(c);
  return Kind::word;
}

void JsonTokens::string() {
  text_.clear();
  ++at_;
  while (true) {
    if (peek() == no_byte) unexpected(no_byte);
    const size_t begin = at_;
    while (at_ < buffer_.size() && buffer_[at_] != '"' && buffer_[at_] != '\\') ++at_;
    text_.append(buffer_, begin, at_ - begin);
    if (at_ == buffer_.size()) continue;
    if (buffer_[at_++] == '"') return;
    escape();
  }
}

// Behind the backslash.
void JsonTokens::escape() {
  constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
  const int c = peek();
  const size_t letter = c == no_byte ? letters.npos : letters.find(static_cast<char>(c));
  if (letter == std::string_view::npos && c != 'u') unexpected(c);
  ++at_;
  if (c != 'u') {
    text_ += meanings[letter];
    return;
  }
  unsigned code = four_digits();
  while (is_high(code)) {
    // The low half should follow; anything else is read for itself.
    if (peek() != '\\') return append_utf8(text_, replacement_character);
    ++at_;
    if (peek() != 'u') {
      append_utf8(text_, replacement_character);
      return escape();  // not \u, so this recurses only once
    }
    ++at_;
    const unsigned low = four_digits();
    if (is_low(low)) return append_utf8(text_, 0x10000 + ((code - 0xd800) << 10U) + (low - 0xdc00));
    append_utf8(text_, replacement_character);
    code = low;
  }
  append_utf8(text_, is_low(code) ? replacement_character : code);
}

unsigned JsonTokens::four_digits() {
  constexpr std::string_view digits = "0123456789abcdef";
  unsigned code = 0;
  for (int i = 0; i < 4; ++i) {
    const int c = peek();
    const int lower = c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c;
    const size_t digit = c == no_byte ? digits.npos : digits.find(static_cast<char>(lower));
    if (digit == std::string_view::npos) unexpected(c);
    code = code * 16 + static_cast<unsigned>(digit);
    ++at_;
  }
  return code;
}

std::optional<int64_t> JsonTokens::integer() const {
  if (kind_ != Kind::number) return std::nullopt;
  int64_t value = 0;
  const char* const last = text_.data() + text_.size();
  const auto [end, error] = std::from_chars(text_.data(), last, value);
  if (error == std::errc::result_out_of_range) fail("a number is beyond 64 bits,");
  if (error == std::errc{} && end == last) return value;
  JsonNumber number;
  bool rounded = false;
  if (!parse_json_number(text_, number)) return std::nullopt;
  if (!number.scaled(0, value, rounded)) fail("a number is beyond 64 bits,");
  return rounded ? std::nullopt : std::optional(value);
}

void JsonTokens::skip() {
  if (kind_ != Kind::begin_object && kind_ != Kind::begin_array) return;
  const size_t outside = open_.size() - 1;
  while (open_.size() > outside) next();
}

std::optional<int64_t> JsonTokens::take_integer() {
  next();
  const std::optional<int64_t> value = integer();
  skip();
  return value;
}

std::string JsonTokens::take_string() {
  std::string value;
  if (next() == Kind::string) value = text_;
  skip();
  return value;
}

}  // namespace memflame
