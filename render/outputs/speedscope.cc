// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <sstream>

#include "core/kind_names.h"
#include "core/units.h"
#include "render/order/ordered_stacks.h"
#include "render/order/source_lines.h"
#include "render/output.h"
#include "render/outputs/comments.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

// Streams the document: one profile per column. Facts that the format has no field for are added
// under names that other readers skip.
class SpeedscopeWriter {
 public:
  SpeedscopeWriter(std::ostream& out, const Profile& profile, const RenderOptions& options)
      : out_(out),
        profile_(profile),
        options_(options),
        clean_(clean_strings(profile)),
        stacks_(stacks_of(profile)) {}

  void run() {
    out_ << R"({"$schema":"https://www.speedscope.app/file-format-schema.json")"
         << ",\n\"exporter\":\"memflame\",\n\"name\":"
         << quoted(options_.title.empty() ? profile_.meta.title : options_.title);
    size_t active = 0;
    for (size_t i = 0; i < profile_.shown; ++i)
      if (profile_.types[i].unit != Unit::variance) ++active;
    out_ << ",\n\"activeProfileIndex\":" << active;
    write_frames();
    out_ << ",\n\"profiles\":[";
    const char* separator = "";
    for (size_t i = 0; i < profile_.types.size(); ++i) {
      if (profile_.types[i].unit == Unit::variance) continue;
      out_ << separator;
      separator = ",\n";
      write_profile(i);
    }
    out_ << "]";
    write_rest();
    out_ << "}\n";
  }

 private:
  static std::vector<StackId> stacks_of(const Profile& profile) {
    std::vector<StackId> stacks = ordered_stacks(profile);
    std::erase_if(stacks, [&](StackId stack) {
      const std::span<const int64_t> values = profile.values(stack);
      return std::none_of(values.begin(), values.end(), [](int64_t value) { return value > 0; });
    });
    return stacks;
  }

  std::string quoted(std::string_view text) {
    std::string out = "\"";
    append_json(out, clean_text(text, replaced_));
    return out + "\"";
  }

  void field(const char* key, StringId text) {
    std::string escaped;
    append_json(escaped, clean_[text]);
    out_ << key << '"' << escaped << '"';
  }

  // In the order of their first use.
  void write_frames() {
    out_ << ",\n\"shared\":{\"frames\":[";
    place_of_.resize(profile_.frames.size(), 0);
    uint32_t places = 0;
    for (const StackId stack : stacks_)
      for (const FrameId frame : profile_.path(stack)) {
        if (place_of_[frame.index] != 0) continue;
        place_of_[frame.index] = ++places;
        out_ << (places == 1 ? "\n" : ",\n");
        write_frame(profile_.frames[frame]);
      }
    out_ << "]}";
  }

  void write_frame(const Frame& frame) {
    field("{\"name\":", frame.function);
    if (frame.file) field(",\"file\":", frame.file);
    if (frame.line != 0) out_ << ",\"line\":" << frame.line;
    if (frame.module) field(",\"module\":", frame.module);
    if (frame.kind != FrameKind::user) out_ << ",\"kind\":\"" << name(frame.kind) << '"';
    out_ << '}';
  }

  static std::string_view unit_of(const ValueType& type) {
    const bool is_known = type.unit == Unit::bytes || type.unit == Unit::nanoseconds;
    return is_known ? name(type.unit) : "none";
  }

  // Speedscope refuses a document with a negative weight.
  void write_profile(size_t column) {
    const ValueType& type = profile_.types[column];
    int64_t total = 0;
    for (const StackId stack : stacks_)
      if (!add_to(total, std::max<int64_t>(profile_.values(stack)[column], 0), type.unit))
        throw Error("the values of " + type.name + " add up to more than 64 bits");
    out_ << "{\"type\":\"sampled\",\"name\":" << quoted(type.name) << ",\"unit\":\""
         << unit_of(type) << "\",\"memflame\":{\"unit\":\"" << name(type.unit)
         << "\",\"decimals\":" << int{type.decimals}
         << "},\"startValue\":0,\"endValue\":" << plain(total, type.decimals) << ",\n\"samples\":[";
    const char* separator = "";
    for_positive(column, [&](StackId stack, int64_t) {
      out_ << separator << '[';
      separator = ",\n";
      const char* comma = "";
      for (const FrameId frame : profile_.path(stack)) {
        out_ << comma << place_of_[frame.index] - 1;
        comma = ",";
      }
      out_ << ']';
    });
    out_ << "],\n\"weights\":[";
    separator = "";
    for_positive(column, [&](StackId, int64_t value) {
      out_ << separator << plain(value, type.decimals);
      separator = ",";
    });
    out_ << "]}";
  }

  template <class Take>
  void for_positive(size_t column, const Take& take) {
    for (const StackId stack : stacks_)
      if (const int64_t value = profile_.values(stack)[column]; value > 0) take(stack, value);
  }

  void write_rest() {
    std::ostringstream comments;
    write_comments(comments, profile_, options_, clean_.replaced);
    std::istringstream lines(comments.str());
    out_ << ",\n\"memflame\":[";
    const char* separator = "";
    for (std::string line; std::getline(lines, line); separator = ",\n")
      out_ << separator << quoted(line);
    out_ << "]";
  }

  std::ostream& out_;
  const Profile& profile_;
  const RenderOptions& options_;
  const CleanStrings clean_;
  uint64_t replaced_ = 0;
  const std::vector<StackId> stacks_;
  std::vector<uint32_t> place_of_;  // by FrameId::index, from 1
};

}  // namespace

void write_speedscope(std::ostream& out, const Profile& profile, const RenderOptions& options) {
  if (options.lines || !has_lines(profile))
    SpeedscopeWriter(out, profile, options).run();
  else
    SpeedscopeWriter(out, by_function(profile), options).run();
}

}  // namespace memflame
