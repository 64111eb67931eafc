// SPDX-License-Identifier: BSD-2-Clause
// memflame's pages and pictures: a JSON object and a block of data, which
// render/picture/data_block.h describes.
#include <algorithm>
#include <array>

#include "collapse/inputs/memflame/memflame_facts.h"
#include "collapse/inputs/readers.h"
#include "collapse/source/unpack.h"
#include "core/error.h"

namespace memflame {
namespace {

constexpr std::array html_steps{
    JsonStep{MemflameFacts::document, "types", MemflameFacts::value_types},
    JsonStep{MemflameFacts::value_types, "", MemflameFacts::value_type},
    JsonStep{MemflameFacts::document, "reconciliation", MemflameFacts::reconciliation},
    JsonStep{MemflameFacts::reconciliation, "", MemflameFacts::check},
    JsonStep{MemflameFacts::document, "notes", MemflameFacts::notes},
    JsonStep{MemflameFacts::document, "losses", MemflameFacts::losses},
    JsonStep{MemflameFacts::losses, "*", MemflameFacts::loss},
};

// Pictures have two kinds of frames more than FrameKind.
constexpr uint64_t lost_kind = 7, merged_kind = 8;

// The bytes of the data's base64; blanks are skipped.
class Base64 : public ByteStream {
 public:
  explicit Base64(std::string_view text) : text_(text) {}

  size_t read(char* into, size_t size) override {
    size_t done = 0;
    while (done < size) {
      while (count_ < 8 && take()) {
      }
      if (count_ < 8) break;
      count_ -= 8;
      into[done++] = static_cast<char>(bits_ >> count_);
    }
    return done;
  }

 private:
  // Takes six more bits; false at the end.
  bool take() {
    for (; !text_.empty(); text_.remove_prefix(1)) {
      const char c = text_.front();
      if (c == '=') return false;
      const int value = digit(c);
      if (value < 0 && (c == '\n' || c == '\r' || c == ' ' || c == '\t')) continue;
      if (value < 0) throw Error("its data are not base64");
      text_.remove_prefix(1);
      bits_ = (bits_ << 6U) | static_cast<uint32_t>(value);
      count_ += 6;
      return true;
    }
    return false;
  }

  static int digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
  }

  std::string_view text_;
  uint32_t bits_ = 0;
  unsigned count_ = 0;  // bits not returned yet
};

std::string inflated(std::string_view base64) {
  constexpr size_t limit = size_t{8} << 30U, least = size_t{64} << 10U;
  const std::unique_ptr<ByteStream> stream = unpack_gzip(std::make_unique<Base64>(base64));
  std::string bytes;
  size_t known = 0;
  while (true) {
    if (bytes.size() - known < least) bytes.resize(std::max(2 * bytes.size(), 2 * least));
    const size_t got = stream->read(bytes.data() + known, bytes.size() - known);
    known += got;
    if (got == 0) break;
    if (known > limit) throw Error("its data are larger than 8 GiB");
  }
  if (const std::string missing = stream->missing(); !missing.empty()) throw Error(missing);
  bytes.resize(known);
  return bytes;
}

// A sequence of LEB128 numbers.
struct Numbers {
  std::string_view rest;

  uint64_t next() {
    uint64_t value = 0;
    for (unsigned shift = 0; !rest.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest.front());
      rest.remove_prefix(1);
      if (shift > 63 || (shift == 63 && byte > 1)) break;
      value |= uint64_t{byte & 127U} << shift;
      if (byte < 128) return value;
    }
    throw Error("its data are damaged");
  }

  int64_t next_signed() {
    const uint64_t value = next();
    return static_cast<int64_t>((value >> 1U) ^ (0 - (value & 1U)));
  }

  uint64_t next_below(uint64_t end) {
    const uint64_t value = next();
    if (value >= end) throw Error("its data are damaged");
    return value;
  }

  // A count is bounded: each item takes at least one byte.
  size_t count() { return next_below(rest.size() + 1); }

  std::string_view text() {
    const size_t size = count();
    const std::string_view text = rest.substr(0, size);
    rest.remove_prefix(size);
    return text;
  }

  // The next `count` numbers; continues after them.
  Numbers column(size_t count) {
    const Numbers numbers = *this;
    for (size_t i = 0; i < count; ++i) {
      while (!rest.empty() && static_cast<unsigned char>(rest.front()) >= 128)
        rest.remove_prefix(1);
      if (rest.empty()) throw Error("its data end too soon");
      rest.remove_prefix(1);
    }
    return numbers;
  }
};

struct SourcePlace {
  StringId file{};
  uint32_t line = 0;
};

// The source places of nodes, from the block of source lines; none if there is no such block. A box
// that stands for several lines has no place: which line led to which callee is not known.
// `frame`: the frames of `nodes` nodes; there are `frames` different ones.
std::vector<SourcePlace> places_of_nodes(const std::string& block, StringTable& strings,
                                         size_t frames, Numbers frame, size_t nodes) {
  if (block.empty()) return {};
  Numbers numbers{block};
  std::vector<StringId> texts(numbers.count());
  for (StringId& text : texts) text = strings.intern(numbers.text());
  std::vector<SourcePlace> places(numbers.count() + 1);  // the first is none
  for (size_t i = 1; i < places.size(); ++i)
    places[i].file = texts[numbers.next_below(texts.size())];
  for (size_t i = 1; i < places.size(); ++i)
    places[i].line = static_cast<uint32_t>(numbers.next_below(uint64_t{1} << 32U));
  std::vector<uint64_t> of_frame(frames), of_node(nodes);
  for (uint64_t& count : of_frame) count = numbers.next();
  Numbers next = frame;
  for (size_t node = 0; node < nodes; ++node)
    if (const uint64_t at = next.next(); node != 0 && at < frames && of_frame[at] > 1)
      of_node[node] = numbers.next();
  // Reads one list. A list of one place gives that place, any other none.
  const auto take_list = [&](uint64_t count) {
    SourcePlace place;
    for (uint64_t i = 0; i < count; ++i) place = places[numbers.next_below(places.size())];
    return count == 1 ? place : SourcePlace{};
  };
  std::vector<SourcePlace> only, out(nodes);
  for (const uint64_t count : of_frame) only.push_back(take_list(count));
  for (size_t node = 0; node < nodes; ++node)
    if (const uint64_t at = frame.next(); node != 0 && at < frames)
      out[node] = of_frame[at] == 1 ? only[at] : take_list(of_node[node]);
  return out;
}

class PageReader : public MemflameFacts {
 public:
  PageReader(Source& source, const ReadOptions& options)
      : MemflameFacts(source), options_(options) {
    variances_are_columns_ = true;
  }

  void text(uint8_t place, std::string_view key, std::string& text) override {
    MemflameFacts::text(place, key, text);
    if (place == document && key == "order") in_order_ = text == "time" && options_.in_order;
  }

  void number(uint8_t place, std::string_view key, const JsonNumber& number) override {
    MemflameFacts::number(place, key, number);
    if (place == document && key == "shown") shown_ = static_cast<size_t>(whole(number));
    if (place == document && key == "merged") merged_ = whole(number) != 0;
    if (place == document && key == "functions") functions_ = whole(number);
  }

  Profile read() {
    const std::string page = source_.all();
    Source about = Source::of_memory(std::string(part(page, "mf-about")), source_.name());
    walk_json(about, html_steps, *this);
    check_types();
    if (in_order_) profile_.keep_order();
    const std::string_view data = part(page, "mf-data");
    const bool lines = options_.lines && page.find(begin_of("mf-lines")) != std::string::npos;
    try {
      take_data(inflated(data), lines ? inflated(part(page, "mf-lines")) : "");
    } catch (const Error& error) {
      source_.fail(error.what());
    }
    issues_.finish(profile_);
    return std::move(profile_);
  }

 private:
  // The text of the element with that class. It holds no "<", and text in the page cannot hold the
  // mark of the class, because quotes in text are escaped.
  static std::string begin_of(const std::string& css_class) {
    return "class=\"" + css_class + "\">";
  }
  std::string_view part(std::string_view page, const std::string& css_class) const {
    const std::string begin = begin_of(css_class);
    const size_t at = page.find(begin);
    if (at == std::string_view::npos)
      source_.fail("there are no figures in it: a picture needs its script to hold them");
    const size_t from = at + begin.size(), end = page.find('<', from);
    if (end == std::string_view::npos) source_.fail("it ends in the middle");
    return page.substr(from, end - from);
  }

  void check_types() {
    std::vector<ValueType>& types = profile_.types;
    if (shown_ >= types.size() || types[shown_].unit == Unit::variance)
      source_.fail("it does not say what its values are");
    profile_.shown = shown_;
    for (const ValueType& type : types)
      if (type.variance != no_column &&
          (type.unit == Unit::variance || type.variance >= types.size() ||
           types[type.variance].unit != Unit::variance))
        source_.fail("its columns of errors are damaged");
  }

  // lines: the block of source lines, or "".
  void take_data(const std::string& data, const std::string& lines) {
    Numbers numbers{data};
    take_frames(numbers);
    const size_t size = numbers.count();
    if (size == 0) throw Error("its data are damaged");
    Numbers up = numbers.column(size - 1), frame = numbers.column(size);
    Numbers merged = merged_ ? numbers.column(size) : Numbers{};
    std::vector<Numbers> own;
    for (size_t i = 0; i < profile_.types.size(); ++i) own.push_back(numbers.column(size));
    // Skips the sums per function, which are not needed here.
    for (int64_t i = 0; i < functions_ && !numbers.rest.empty(); ++i)
      numbers.column(frames_.size());
    if (!numbers.rest.empty()) throw Error("its data are damaged");
    const std::vector<SourcePlace> places =
        places_of_nodes(lines, profile_.strings, frames_.size(), frame, size);
    std::vector<StackId> path;
    std::vector<int64_t> values(own.size());
    for (size_t node = 0; node < size; ++node) {
      const uint64_t place = frame.next();
      const SourcePlace source = places.empty() ? SourcePlace{} : places[node];
      const uint64_t boxes = merged_ ? merged.next() : 0;
      if (node == 0) {
        path.emplace_back();
      } else {
        path.resize(path.size() - up.next_below(path.size()));
        path.push_back(profile_.stacks.push(path.back(), frame_of(place, boxes, source)));
      }
      for (size_t i = 0; i < own.size(); ++i) values[i] = own[i].next_signed();
      if (std::any_of(values.begin(), values.end(), [](int64_t value) { return value != 0; }))
        profile_.add(path.back(), values);
    }
  }

  void take_frames(Numbers& numbers) {
    std::vector<StringId> strings(numbers.count());
    for (StringId& string : strings) string = profile_.strings.intern(numbers.text());
    frames_.resize(numbers.count());
    const auto names = [&](StringId Frame::*member) {
      for (Frame& frame : frames_) frame.*member = strings[numbers.next_below(strings.size())];
    };
    names(&Frame::function);
    names(&Frame::module);
    for (Frame& frame : frames_) {
      const uint64_t kind = numbers.next_below(merged_kind + 1);
      frame.kind = kind >= lost_kind ? FrameKind::note : static_cast<FrameKind>(kind);
    }
    numbers.column(frames_.size());  // colours
  }

  // A picture merges the frames that it has no room for, and drops their names.
  FrameId frame_of(uint64_t place, uint64_t boxes, const SourcePlace& source) {
    if (place >= frames_.size()) throw Error("its data are damaged");
    if (boxes == 0) {
      Frame frame = frames_[place];
      frame.file = source.file;
      frame.line = source.line;
      return profile_.frames.intern(frame);
    }
    const std::string name =
        "[merged: " + std::to_string(boxes) + (boxes == 1 ? " frame]" : " frames]");
    return profile_.frames.intern({profile_.strings.intern(name), {}, {}, 0, FrameKind::note});
  }

  const ReadOptions& options_;
  size_t shown_ = 0;
  int64_t functions_ = 0;  // columns of figures by function
  bool merged_ = false, in_order_ = false;
  std::vector<Frame> frames_;
};

}  // namespace

bool is_memflame_html(std::string_view head) {
  if (head.starts_with("<!DOCTYPE html>"))
    return head.find("<meta name=\"generator\" content=\"memflame\">") != std::string_view::npos;
  const std::string_view begin = head.substr(0, head.find("<title>"));
  // Written with --fragment, without the page around it.
  if (begin.starts_with("<div class=\"memflame\"")) return true;
  return (begin.starts_with("<?xml") || begin.starts_with("<svg ")) &&
         begin.find(" class=\"memflame\"") != std::string_view::npos;
}

Profile read_memflame_html(Source& source, const ReadOptions& options) {
  return PageReader(source, options).read();
}

}  // namespace memflame
