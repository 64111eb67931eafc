#include "collapse/json_walk.h"

#include <istream>
#include <nlohmann/json.hpp>
#include <streambuf>
#include <vector>

namespace memflame {
namespace {

class SourceBuffer : public std::streambuf {
 public:
  explicit SourceBuffer(Source& source) : source_(source), buffer_(size_t{256} << 10U) {}

 protected:
  int_type underflow() override {
    const size_t got = source_.read(buffer_.data(), buffer_.size());
    if (got == 0) return traits_type::eof();
    setg(buffer_.data(), buffer_.data(), buffer_.data() + got);
    return traits_type::to_int_type(buffer_[0]);
  }

 private:
  Source& source_;
  std::vector<char> buffer_;
};

// What nlohmann::json calls while it parses.
class Walk : public nlohmann::json_sax<nlohmann::json> {
 public:
  Walk(Source& source, std::span<const JsonStep> steps, JsonVisitor& visitor)
      : source_(source), steps_(steps), visitor_(visitor) {}

  bool null() override { return nothing(); }
  bool boolean(bool) override { return nothing(); }
  bool number_integer(number_integer_t value) override {
    return take({.digits = value, .exponent = 0});
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value <= INT64_MAX) return take({.digits = static_cast<int64_t>(value), .exponent = 0});
    return number_float(0, std::to_string(value));
  }
  bool number_float(number_float_t, const string_t& text) override {
    JsonNumber number;
    parse_json_number(text, number);
    return take(number);
  }
  bool string(string_t& text) override {
    if (place() != 0) visitor_.text(place(), key_, text);
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return begin(); }
  bool start_array(std::size_t) override { return begin(); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool key(string_t& text) override {
    if (place() != 0) key_ = text;
    return true;
  }
  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception&) override {
    source_.fail("no JSON from byte " + std::to_string(at) + " on; was it cut off?");
  }

 private:
  uint8_t place() const { return places_.empty() ? uint8_t{0} : places_.back(); }

  bool begin() {
    uint8_t next = places_.empty() ? uint8_t{1} : uint8_t{0};
    for (const JsonStep& step : steps_)
      if (place() != 0 && step.from == place() && (step.key == key_ || step.key == "*"))
        next = step.to;
    places_.push_back(next);
    if (next != 0) visitor_.begin(next, key_);
    key_.clear();
    return true;
  }

  bool end() {
    if (place() != 0) visitor_.end(place());
    places_.pop_back();
    key_.clear();
    return true;
  }

  bool take(const JsonNumber& number) {
    if (place() != 0) visitor_.number(place(), key_, number);
    return true;
  }

  bool nothing() {
    if (place() != 0) visitor_.nothing(place(), key_);
    return true;
  }

  Source& source_;
  const std::span<const JsonStep> steps_;
  JsonVisitor& visitor_;
  std::vector<uint8_t> places_;
  std::string key_;
};

}  // namespace

void walk_json(Source& source, std::span<const JsonStep> steps, JsonVisitor& visitor) {
  SourceBuffer buffer(source);
  std::istream stream(&buffer);
  // An Error of the source's goes through the parser as it is.
  Walk walk(source, steps, visitor);
  nlohmann::json::sax_parse(stream, &walk);
}

}  // namespace memflame
