// SPDX-License-Identifier: BSD-2-Clause
#include "core/kind_names.h"
#include "core/units.h"
#include "render/order/ordered_stacks.h"
#include "render/order/source_lines.h"
#include "render/output.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

// Nested objects as d3-flame-graph and others draw them: value is the shown column with all
// callees, self without them; values holds all columns, with callees. Streamed, and without
// recursion however deep the stacks are.
class TreeWriter {
 public:
  TreeWriter(std::ostream& out, const Profile& profile, const RenderOptions& options)
      : out_(out), profile_(profile), options_(options), clean_(clean_strings(profile)) {
    for (size_t i = 0; i < profile.types.size(); ++i) {
      if (profile.types[i].unit == Unit::variance) continue;
      columns_.push_back(i);
      sums_.push_back(profile.inclusive(i));
      keys_.push_back(quoted(profile.types[i].name) + ':');
    }
  }

  void run() {
    const std::string& title = options_.title.empty() ? profile_.meta.title : options_.title;
    out_ << "{\"name\":" << quoted(title.empty() ? "all" : title);
    write_figures({});
    // The stacks that are open: from the root to the current one.
    size_t depth = 0;
    StackId open;
    bool has_callees = false;
    for (const StackId stack : ordered_stacks(profile_)) {
      if (!stack) continue;
      const StackNode& node = profile_.stacks[stack];
      for (; open != node.caller; open = profile_.stacks[open].caller, --depth) {
        out_ << (has_callees ? "]}" : "}");
        has_callees = true;
      }
      out_ << (has_callees ? ",\n{" : ",\"children\":[\n{");
      write_frame(profile_.frames[node.frame]);
      write_figures(stack);
      open = stack;
      has_callees = false;
      ++depth;
    }
    for (; depth > 0; --depth, has_callees = true) out_ << (has_callees ? "]}" : "}");
    out_ << (has_callees ? "]}\n" : "}\n");
  }

 private:
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

  void write_frame(const Frame& frame) {
    field("\"name\":", frame.function);
    if (frame.kind != FrameKind::user) out_ << ",\"kind\":\"" << name(frame.kind) << '"';
    if (frame.module) field(",\"module\":", frame.module);
    if (frame.file) field(",\"file\":", frame.file);
    if (frame.line != 0) out_ << ",\"line\":" << frame.line;
  }

  void write_figures(StackId stack) {
    const uint8_t decimals = profile_.types[profile_.shown].decimals;
    for (size_t i = 0; i < columns_.size(); ++i)
      if (columns_[i] == profile_.shown)
        out_ << ",\"value\":" << plain(sums_[i][stack.index], decimals);
    out_ << ",\"self\":" << plain(profile_.values(stack)[profile_.shown], decimals)
         << ",\"values\":{";
    for (size_t i = 0; i < columns_.size(); ++i)
      out_ << (i == 0 ? "" : ",") << keys_[i]
           << plain(sums_[i][stack.index], profile_.types[columns_[i]].decimals);
    out_ << '}';
  }

  std::ostream& out_;
  const Profile& profile_;
  const RenderOptions& options_;
  const CleanStrings clean_;
  uint64_t replaced_ = 0;
  std::vector<size_t> columns_;             // those that are values
  std::vector<std::vector<int64_t>> sums_;  // by column, then by StackId::index
  std::vector<std::string> keys_;
};

}  // namespace

void write_tree(std::ostream& out, const Profile& profile, const RenderOptions& options) {
  if (options.lines || !has_lines(profile))
    TreeWriter(out, profile, options).run();
  else
    TreeWriter(out, by_function(profile), options).run();
}

}  // namespace memflame
