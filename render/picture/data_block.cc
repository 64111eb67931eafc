// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/data_block.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/difference.h"
#include "core/script_files.h"
#include "render/order/plain_frames.h"
#include "render/picture/column_words.h"
#include "render/picture/leak_paths.h"
#include "render/picture/looks.h"
#include "render/picture/packed.h"
#include "render/picture/page_parts.h"

namespace memflame {
namespace {

constexpr int64_t exact_doubles = int64_t{1} << 53U;  // JavaScript's numbers are exact up to here
constexpr auto merged_kind = static_cast<uint8_t>(BoxKind::merged);
using Json = nlohmann::ordered_json;

uint32_t number(Rgb colour) {
  return (uint32_t{colour.red} << 16U) | (uint32_t{colour.green} << 8U) | colour.blue;
}

// The frames that nodes use, by name; `place` finds them again. Merged boxes share the last one.
struct UsedFrames {
  std::vector<FrameId> list;
  std::vector<uint32_t> place;  // FrameId::index -> index in the list
};

void sort_by_name(std::vector<FrameId>& frames, const Profile& profile) {
  // If few are used, sorting only those is faster.
  if (frames.size() < profile.frames.size() / 8) {
    const auto key = [&](FrameId id) {
      const Frame& frame = profile.frames[id];
      return std::tuple(profile.strings[frame.function], profile.strings[frame.module], frame.kind);
    };
    std::sort(frames.begin(), frames.end(), [&](FrameId a, FrameId b) { return key(a) < key(b); });
    return;
  }
  const std::vector<uint32_t> rank = plain_frames(profile).rank;
  std::sort(frames.begin(), frames.end(),
            [&](FrameId a, FrameId b) { return rank[a.index] < rank[b.index]; });
}

UsedFrames used_frames(const Profile& profile, const DataNodes& nodes) {
  UsedFrames out;
  out.place.resize(profile.frames.size(), UINT32_MAX);
  for (const FrameId frame : nodes.frame)
    if (frame && std::exchange(out.place[frame.index], 0U) != 0) out.list.push_back(frame);
  if (nodes.functions)
    for (const FrameId frame : nodes.functions->more)
      if (std::exchange(out.place[frame.index], 0U) != 0) out.list.push_back(frame);
  if (nodes.native && std::exchange(out.place[nodes.native.index], 0U) != 0)
    out.list.push_back(nodes.native);
  sort_by_name(out.list, profile);
  for (uint32_t i = 0; i < out.list.size(); ++i) out.place[out.list[i].index] = i;
  return out;
}

// Whether some sum may need more than 53 bits.
bool big(const DataNodes& nodes) {
  if (nodes.functions && nodes.functions->largest > exact_doubles) return true;
  std::vector<uint64_t> sums(nodes.columns, 0);
  for (size_t i = 0; i < nodes.own.size(); ++i) {
    const int64_t value = nodes.own[i];
    const uint64_t size =
        value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    if (size > exact_doubles) return true;
    if ((sums[i % nodes.columns] += size) > exact_doubles) return true;
  }
  return false;
}

void append_frames(std::string& out, const DataSource& source, const UsedFrames& frames,
                   bool merged) {
  const Profile& profile = source.profile;
  std::string strings;
  std::vector<uint32_t> place(profile.strings.size(), UINT32_MAX);
  uint32_t count = 0;
  const auto string = [&](StringId id) {
    if (place[id.index] == UINT32_MAX) {
      place[id.index] = count++;
      append_number(strings, profile.strings[id].size());
      strings += profile.strings[id];
    }
    return place[id.index];
  };
  std::string names, modules, kinds, colours;
  const CodeOwners owners(profile);
  for (const FrameId id : frames.list) {
    const Frame& frame = profile.frames[id];
    const BoxKind kind = box_kind(profile.strings[frame.function], frame.kind);
    append_number(names, string(frame.function));
    append_number(modules, string(frame.module));
    append_number(kinds, static_cast<uint8_t>(kind));
    append_number(colours, number(source.palette.colour(profile, owners, frame,
                                                        source.names[frame.function])));
  }
  if (merged) {
    append_number(names, string({}));
    append_number(modules, string({}));
    append_number(kinds, merged_kind);
    append_number(colours, number(source.palette.colour("", BoxKind::merged)));
  }
  append_number(out, count);
  out += strings;
  append_number(out, frames.list.size() + (merged ? 1 : 0));
  out += names + modules + kinds + colours;
}

void append_nodes(std::string& out, const UsedFrames& frames, const DataNodes& nodes) {
  append_number(out, nodes.size());
  for (size_t i = 1; i < nodes.size(); ++i)
    append_number(out, nodes.depth[i - 1] + 1 - nodes.depth[i]);
  append_number(out, 0);
  for (size_t i = 1; i < nodes.size(); ++i)
    append_number(out, nodes.frame[i] ? frames.place[nodes.frame[i].index] : frames.list.size());
  for (const uint32_t merged : nodes.merged) append_number(out, merged);
  for (size_t column = 0; column < nodes.columns; ++column)
    for (size_t i = 0; i < nodes.size(); ++i)
      append_signed(out, nodes.own[i * nodes.columns + column]);
}

// Stacks that begin with their innermost function have no end to pass over.
bool has_blame(const DataNodes& nodes, const RenderOptions& options) {
  return !nodes.inner.empty() && !options.reversed;
}

void append_inner(std::string& out, const UsedFrames& frames, const DataNodes& nodes) {
  for (const FrameId frame : frames.list)
    append_signed(out, static_cast<int64_t>(nodes.inner[frame.index]));
  if (!nodes.merged.empty()) append_signed(out, 0);
}

void append_functions(std::string& out, const UsedFrames& frames,
                      const FunctionFigures& functions) {
  for (const std::vector<int64_t>& column : functions.beyond) {
    for (const FrameId frame : frames.list) append_signed(out, column[frame.index]);
    append_signed(out, column[0]);
  }
}

// Source lines in the form of their block.
class LineBlock {
 public:
  LineBlock(const Profile& profile, const UsedFrames& frames, const DataNodes& nodes)
      : profile_(profile), frames_(frames), nodes_(nodes) {}

  std::string text() {
    // Lists first: they determine which places exist.
    std::vector<uint32_t> several(profile_.frames.size(), 0);
    for (const FrameId frame : frames_.list)
      several[frame.index] = add(nodes_.function_lines, frame.index) > 1 ? 1 : 0;
    if (!nodes_.merged.empty()) append_number(counts_, 0);
    for (size_t node = 0; node < nodes_.size(); ++node)
      if (several[nodes_.frame[node].index] != 0) add(nodes_.lines, node);
    std::string out;
    append_number(out, strings_);
    out += string_text_;
    append_number(out, places_);
    out += files_ + numbers_ + counts_ + lists_;
    for (size_t column = 0; column < nodes_.columns; ++column)
      for (const auto& [lines, owner] : several_)
        append_number(out, main_entry(profile_, *lines, owner, column));
    return out;
  }

 private:
  uint32_t string(StringId id) {
    const auto [known, added] = string_of_.try_emplace(id.index, strings_);
    if (added) {
      ++strings_;
      append_number(string_text_, profile_.strings[id].size());
      string_text_ += profile_.strings[id];
    }
    return known->second;
  }

  uint32_t place(FrameId id) {
    const Frame& frame = profile_.frames[id];
    if (!frame.file) return 0;
    const auto [known, added] =
        place_of_.try_emplace((uint64_t{frame.file.index} << 32U) | frame.line, places_ + 1);
    if (added) {
      ++places_;
      append_number(files_, string(frame.file));
      append_number(numbers_, frame.line);
    }
    return known->second;
  }

  // Adds the list of an owner; returns its length, 0 if it has no line.
  size_t add(const NodeLines& lines, size_t owner) {
    const std::span<const FrameId> frames = lines.frames(owner);
    if (std::ranges::none_of(frames, [&](FrameId id) { return bool{profile_.frames[id].file}; })) {
      append_number(counts_, 0);
      return 0;
    }
    append_number(counts_, frames.size());
    for (const FrameId frame : frames) append_number(lists_, place(frame));
    if (frames.size() > 1) several_.emplace_back(&lines, owner);
    return frames.size();
  }

  const Profile& profile_;
  const UsedFrames& frames_;
  const DataNodes& nodes_;
  std::unordered_map<uint32_t, uint32_t> string_of_;
  std::unordered_map<uint64_t, uint32_t> place_of_;
  uint32_t strings_ = 0, places_ = 0;
  std::string string_text_, files_, numbers_, counts_, lists_;
  std::vector<std::pair<const NodeLines*, size_t>> several_;  // lists of several, by owner
};

// The facts about a profile; empty ones are left out.
void add_facts(Json& about, const Profile& profile, const RenderOptions& options) {
  uint64_t replaced = 0;
  const auto add = [&](const char* key, const std::string& text) {
    if (!text.empty()) about[key] = clean_text(text, replaced);
  };
  const Meta& meta = profile.meta;
  add("title", options.title.empty() ? meta.title : options.title);
  add("command", meta.command);
  add("host", meta.host);
  add("sampling", meta.sampling);
  if (meta.seconds > 0) about["seconds"] = meta.seconds;
  for (const Reconciliation& row : meta.reconciliation) {
    if (!row.os) continue;
    auto& written = about["reconciliation"].emplace_back();
    written = {
        {"name", clean_text(row.name, replaced)}, {"captured", row.captured}, {"os", *row.os}};
    if (!row.captured_is.empty()) written["captured_is"] = clean_text(row.captured_is, replaced);
  }
  for (const std::string& note : meta.notes) about["notes"].push_back(clean_text(note, replaced));
  for (size_t i = 0; i < loss_info.size(); ++i) {
    const LossCount& count = profile.losses[static_cast<Loss>(i)];
    if (count.events != 0 || count.bytes != 0)
      about["losses"][std::string(loss_info[i].name)] = {{"events", count.events},
                                                         {"bytes", count.bytes}};
  }
}

// Verdicts, for the script.
void add_marks(Json& about, const Profile& profile, const DataNodes& nodes) {
  uint64_t replaced = 0;
  Json list = Json::array();
  for (size_t i = 0; i < nodes.marked.size(); ++i) {
    const StackMark& mark = profile.marks[i];
    if (nodes.marked[i] == 0) continue;
    Json one{{"node", nodes.marked[i]},
             {"text", clean_text(mark.sentence, replaced)},
             {"label", clean_text(mark.label, replaced)}};
    if (mark.is_drawn) one["flag"] = flag_text(mark);
    list.push_back(std::move(one));
  }
  if (list.empty()) return;
  about["marks"] = {
      {"colour", hex(leak_colour)}, {"edge", hex(leak_edge)}, {"list", std::move(list)}};
}

Json runtime_json(const DataSource& source, const DataNodes& nodes) {
  const UsedFrames frames = used_frames(source.profile, nodes);
  Json scripts = Json::array();
  for (uint32_t i = 0; i < frames.list.size(); ++i)
    if (is_script(source.profile, source.profile.frames[frames.list[i]])) scripts.push_back(i);
  Json out{{"native", frames.place[nodes.native.index]}, {"scripts", std::move(scripts)}};
  if (source.options.runtime == Runtime::shown) out["shown"] = 1;
  return out;
}

}  // namespace

DataNodes data_nodes(FrameTree tree, const Profile& profile) {
  NodeLines functions = function_lines(profile, tree.lines, tree.frame);
  std::vector<InnerFrame> inner =
      inner_frames({tree.frame, tree.caller, tree.own, tree.columns}, profile);
  std::vector<uint32_t> depth = std::move(tree.caller);
  for (size_t node = 1; node < depth.size(); ++node) depth[node] = depth[depth[node]] + 1;
  return {std::move(tree.frame), std::move(depth),     {},
          std::move(tree.own),   tree.columns,         {},
          std::move(tree.lines), std::move(functions), std::move(tree.marked),
          std::move(inner)};
}

DataNodes data_nodes(const Layout& layout, const FrameTree& tree, const Profile& profile) {
  DataNodes out;
  std::vector<uint32_t> in_tree;
  out.columns = layout.columns;
  out.own = layout.values;
  std::vector<size_t> path;
  bool merged = false;
  for (size_t i = 0; i < layout.boxes.size(); ++i) {
    const Box& box = layout.boxes[i];
    out.frame.push_back(box.frame);
    out.depth.push_back(box.depth);
    out.merged.push_back(box.merged);
    in_tree.push_back(box.node);
    merged = merged || box.merged != 0;
    path.resize(box.depth);
    // Subtracting the callees turns inclusive sums into own ones; no sum leaves 64 bits.
    for (size_t column = 0; column < out.columns && !path.empty(); ++column) {
      auto& own = reinterpret_cast<uint64_t&>(out.own[path.back() * out.columns + column]);
      own -= static_cast<uint64_t>(layout.sums(i)[column]);
    }
    path.push_back(i);
  }
  if (!merged) out.merged.clear();
  // Also of frames without a box: the table has their functions.
  out.inner = inner_frames({tree.frame, tree.caller, tree.own, tree.columns}, profile);
  out.lines = picked(tree.lines, in_tree);
  out.function_lines = function_lines(profile, tree.lines, tree.frame);
  // A leak that is merged with others is still pointed out.
  const std::vector<MarkedBox> boxes = marked_boxes(layout, tree);
  for (size_t i = 0; i < boxes.size(); ++i) {
    const bool is_there =
        boxes[i].box != SIZE_MAX && (boxes[i].is_exact || profile.marks[i].is_drawn);
    out.marked.push_back(is_there ? static_cast<uint32_t>(boxes[i].box) : 0);
  }
  return out;
}

std::string about_json(const DataSource& source, const DataNodes& nodes) {
  const auto& [profile, options, palette, names] = source;
  uint64_t replaced = 0;
  Json types = Json::array();
  for (const ValueType& type : profile.types) {
    Json one{{"name", clean_text(type.name, replaced)}, {"unit", name(type.unit)}};
    if (const std::string words = column_words(type); words != type.name)
      one["label"] = clean_text(words, replaced);
    if (type.decimals != 0) one["decimals"] = type.decimals;
    if (type.variance != no_column)
      one.update({{"variance", type.variance}, {"varianceUnit", type.variance_unit}});
    if (type.unit == Unit::count && &type == &profile.types[profile.shown] &&
        !options.count_name.empty())
      one["word"] = clean_text(options.count_name, replaced);
    types.push_back(one);
  }
  Json about{{"version", 1},
             {"types", types},
             {"shown", profile.shown},
             {"big", big(nodes)},
             {"merged", nodes.merged.empty() ? 0 : 1},
             {"order", word_for<Neighbours>(order_words, options.order)},
             {"mergedKind", merged_kind},
             {"root", options.icicle ? "top" : "bottom"},
             {"fontSize", options.font_size},
             {"match", hex(palette.match)},
             {"mergedColour", number(palette.colour("", BoxKind::merged))},
             {"rootColour", number(palette.colour("all", BoxKind::process))}};
  if (palette.change)
    about["change"] = {number((*palette.change)[0]), number((*palette.change)[1]),
                       number((*palette.change)[2])};
  if (const auto states = difference_of(profile)) {
    about["difference"] = {{"before", states->before}, {"after", states->after}};
    about["diffWidth"] = width_id(options.diff_width);
  } else if (options.diff_width == WidthOf::size) {
    about["net"] = true;
  }
  const bool blame = has_blame(nodes, options);
  if (nodes.functions)
    about.update({{"functions", nodes.functions->beyond.size() + (blame ? 1 : 0)},
                  {"functionMeasures", nodes.functions->measures},
                  {"functionBlames", nodes.functions->blames},
                  {"functionsLeft", nodes.functions->left}});
  if (blame) {
    if (!nodes.functions) about["functions"] = 1;
    about["blame"] = word_for<Blame>(blame_words, options.blame.value_or(Blame::all));
  }
  if (nodes.native) about["runtime"] = runtime_json(source, nodes);
  about.update(looks_json(source, nodes));
  add_facts(about, profile, options);
  add_marks(about, profile, nodes);
  return script_json(about.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void append_data(std::string& out, const DataSource& source, const DataNodes& nodes) {
  const UsedFrames frames = used_frames(source.profile, nodes);
  std::string columns;
  append_frames(columns, source, frames, !nodes.merged.empty());
  append_nodes(columns, frames, nodes);
  if (nodes.functions) append_functions(columns, frames, *nodes.functions);
  if (has_blame(nodes, source.options)) append_inner(columns, frames, nodes);
  append_packed(out, columns, source.options.threads);
}

void append_lines(std::string& out, const DataSource& source, const DataNodes& nodes) {
  if (nodes.lines.empty()) return;
  const UsedFrames frames = used_frames(source.profile, nodes);
  append_packed(out, LineBlock(source.profile, frames, nodes).text(), source.options.threads);
}

}  // namespace memflame
