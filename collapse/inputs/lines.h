// Lines of a stream, in bounded memory whatever the stream holds.
#pragma once

#include <array>
#include <cstddef>
#include <istream>
#include <string>
#include <string_view>

namespace memflame {

class Lines {
 public:
  // Longer lines are cut; a stack of a hundred thousand frames is shorter.
  static constexpr size_t max_length = size_t{16} << 20U;

  explicit Lines(std::istream& in) : in_(in) {}

  // The next line without its end ("\n" or "\r\n"); false at the end of the stream. The line is
  // valid until the next call.
  bool next();

  std::string_view line() const { return line_; }
  size_t number() const { return number_; }  // from 1
  bool cut() const { return cut_; }          // the line was longer than max_length
  bool failed() const { return in_.bad(); }  // the stream broke off

 private:
  bool fill();
  void append(std::string_view part);

  std::istream& in_;
  std::array<char, 65536> buffer_{};
  std::string_view unread_;
  std::string line_;
  size_t number_ = 0;
  bool cut_ = false;
};

}  // namespace memflame
