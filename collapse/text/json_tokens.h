// SPDX-License-Identifier: BSD-2-Clause
// JSON (RFC 8259) as a stream of tokens, for inputs of hundreds of megabytes of which only a
// fraction is kept. Memory is the longest string and a byte for each open bracket.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collapse/source/source.h"

namespace memflame {

// Whether a text begins with `begin`. Blanks in the text are ignored; `begin` has none.
bool begins_as_json(std::string_view text, std::string_view begin);

// Strings may hold any bytes. Half a surrogate pair becomes U+FFFD, because some programs write
// one. Everything else must be JSON, up to the end: otherwise next() throws Error, "NAME: … at byte
// N" (a text has no NAME).
class JsonTokens {
 public:
  enum class Kind : uint8_t {
    begin_object,
    end_object,
    begin_array,
    end_array,
    key,
    string,
    number,
    word,  // true, false, null
    end,
  };

  explicit JsonTokens(Source& source) : source_(&source) {}
  explicit JsonTokens(std::string text) : buffer_(std::move(text)) {}

  Kind next();

  Kind kind() const { return kind_; }  // of the last token
  // The text of a key, string, number or word; valid until the next next().
  std::string_view text() const { return text_; }

  // The value of a number that is an integer; also "1.2e3". Throws Error beyond 64 bits.
  std::optional<int64_t> integer() const;

  // Skips to the end of the object or array that has just begun; does nothing after a scalar.
  void skip();
  // Skips the whole next value.
  void skip_value() {
    next();
    skip();
  }

  // The next token as a scalar; anything else is skipped and gives nothing.
  std::optional<int64_t> take_integer();
  std::string take_string();

  [[noreturn]] void fail(const std::string& what) const;

 private:
  static constexpr int no_byte = -1;
  static constexpr size_t block = size_t{1} << 16U;

  int peek() {
    return at_ < buffer_.size() || fill() ? static_cast<unsigned char>(buffer_[at_]) : no_byte;
  }
  bool fill();
  int peek_behind_blanks();
  Kind close(char bracket);
  Kind value(int c);
  Kind open(char bracket, Kind kind);
  Kind number();
  Kind word();
  void string();
  void escape();
  unsigned four_digits();
  [[noreturn]] void unexpected(int c) const;

  Source* source_ = nullptr;  // none: all is in buffer_
  std::string buffer_;
  size_t at_ = 0;           // in buffer_
  uint64_t before_ = 0;     // bytes before buffer_
  std::vector<char> open_;  // '{' and '['
  std::string text_;
  Kind kind_ = Kind::end;
  bool has_values_ = false;  // in the innermost object or array; at the top: the document is read
  bool after_key_ = false;
};

}  // namespace memflame
