// SPDX-License-Identifier: BSD-2-Clause
// a::b::c::f(int) -> c::f(int)
#include "collapse/tidy/name_scan.h"
#include "collapse/tidy/names.h"

namespace memflame {
namespace {

struct Part {
  size_t begin = 0, end = 0;  // without the "::" before it
};

struct NameParts {
  size_t begin = 0;  // of the first
  std::vector<Part> parts;
};

// Splits the name itself at its "::". A result type, with "::" of its own, may stand before the
// name; a blank ends it.
class Splitter {
 public:
  Splitter(std::string_view name, const std::vector<NameSpan>& spans)
      : name_(name), spans_(spans) {}

  NameParts run() {
    for (const NameSpan& span : spans_) {
      if (span.begin < at_) continue;
      read_text(span.begin);
      const bool after_blank = span.begin > 0 && name_[span.begin - 1] == ' ';
      const bool arguments = span.kind == SpanKind::round && !after_blank;
      const bool is_operator = span.kind == SpanKind::operator_name;
      named_ |= is_operator || arguments;
      if (arguments || is_operator) in_conversion_ = is_operator && name_[span.end - 1] == ' ';
      at_ = span.end;
    }
    read_text(name_.size());
    parts_.parts.push_back({part_begin_, name_.size()});
    return std::move(parts_);
  }

 private:
  void read_text(size_t end) {
    for (; at_ < end; ++at_) {
      if (name_[at_] == ' ' && !named_ && !name_.substr(at_).starts_with(" [")) {
        parts_.parts.clear();
        parts_.begin = part_begin_ = at_ + 1;
      }
      const bool colons = at_ + 1 < end && name_[at_] == ':' && name_[at_ + 1] == ':';
      if (!colons || in_conversion_) continue;
      parts_.parts.push_back({part_begin_, at_});
      part_begin_ = at_ + 2;
      ++at_;
    }
  }

  std::string_view name_;
  const std::vector<NameSpan>& spans_;
  size_t at_ = 0, part_begin_ = 0;
  bool named_ = false;          // blanks belong to the name
  bool in_conversion_ = false;  // in the type of "operator std::string"
  NameParts parts_;
};

bool is_unnamed(std::string_view part) { return part == "(anonymous namespace)"; }

// Parts that mean nothing without the one before them.
bool is_small(std::string_view part) {
  return part.empty() || part.starts_with('{') || part.starts_with('\'') ||
         part.starts_with("$_") || part.starts_with("operator()") || is_unnamed(part);
}

}  // namespace

std::string shorten_namespaces(std::string_view name) {
  constexpr size_t kept = 2;
  if (name.find("::") == std::string_view::npos) return std::string(name);
  const std::optional<std::vector<NameSpan>> spans = scan_name(name);
  if (!spans) return std::string(name);
  const auto [begin, parts] = Splitter(name, *spans).run();
  const auto text = [&](const Part& part) {
    return name.substr(part.begin, part.end - part.begin);
  };
  size_t first = parts.size();
  for (size_t counted = 0; first > 0 && counted < kept; --first)
    if (!is_small(text(parts[first - 1]))) ++counted;
  std::string out(name.substr(0, begin));
  for (size_t i = 0; i < first; ++i)
    if (is_unnamed(text(parts[i]))) out.append(text(parts[i])).append("::");
  return out.append(first < parts.size() ? name.substr(parts[first].begin) : "");
}

}  // namespace memflame
