// SPDX-License-Identifier: BSD-2-Clause
// XML of "xctrace export" with backtraces (Time Profiler and others): one row per sample. An
// element may stand for an earlier one: <frame ref="12"/> is the <frame id="12" …> of an earlier
// row. A sample weighs nanoseconds (<weight>) or, with the CPU Profiler, cycles (<cycle-weight>).
#include <array>
#include <optional>
#include <pugixml.hpp>
#include <tuple>
#include <unordered_map>

#include "collapse/inputs/text_frame.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

class XctraceReader {
 public:
  XctraceReader(Source& source, const ReadOptions& options) : source_(source), options_(options) {}

  Profile run() {
    profile_.types = {{"samples", Unit::count}, {"time", Unit::nanoseconds}};
    std::string text = source_.all();
    pugi::xml_document document;
    const pugi::xml_parse_result result = document.load_buffer_inplace(text.data(), text.size());
    if (!result)
      source_.fail(std::string("not valid XML: ") + result.description() + " at byte " +
                   std::to_string(result.offset));
    // Walks without recursion: rows are found at any depth, but not inside each other.
    for (pugi::xml_node node = document.first_child(); node;) {
      const bool row = std::string_view(node.name()) == "row";
      if (row) take_row(node);
      node = row ? up_and_on(node, document) : next(node, document);
    }
    if (profile_.touched().empty()) source_.fail("no <row> with a <backtrace> in it");
    if (without_ != 0)
      profile_.meta.notes.push_back(with_commas(without_) + " rows have no backtrace");
    if (otherwise_ != 0)
      profile_.meta.notes.push_back(with_commas(otherwise_) + " rows do not tell " +
                                    profile_.types[1].name + " as the others do");
    if (weighed_) profile_.shown = 1;
    return std::move(profile_);
  }

 private:
  using Nodes = std::unordered_map<std::string_view, pugi::xml_node>;

  static pugi::xml_node up_and_on(pugi::xml_node node, const pugi::xml_node& root) {
    while (node && node != root) {
      if (const pugi::xml_node sibling = node.next_sibling()) return sibling;
      node = node.parent();
    }
    return {};
  }

  static pugi::xml_node next(pugi::xml_node node, const pugi::xml_node& root) {
    if (const pugi::xml_node child = node.first_child()) return child;
    return up_and_on(node, root);
  }

  // Keeps a node that has an id. Returns the node that a ref stands for, an empty one for an
  // unknown ref, and any other node itself.
  pugi::xml_node resolved(const pugi::xml_node& node) {
    if (const pugi::xml_attribute id = node.attribute("id")) nodes_.emplace(id.value(), node);
    const pugi::xml_attribute ref = node.attribute("ref");
    if (!ref) return node;
    const auto known = nodes_.find(ref.value());
    return known == nodes_.end() ? pugi::xml_node{} : known->second;
  }

  void take_row(const pugi::xml_node& row) {
    pugi::xml_node backtrace, weight;
    bool in_cycles = false;
    for (pugi::xml_node node = next(row, row); node; node = next(node, row)) {
      const std::string_view name = node.name();
      const pugi::xml_node meant = resolved(node);
      if (name == "backtrace")
        backtrace = meant;
      else if (name == "tagged-backtrace" && node.attribute("ref"))
        backtrace = once(tagged_, meant,
                         [](const pugi::xml_node& tagged) { return tagged.child("backtrace"); });
      else if (name == "weight" || name == "cycle-weight")
        std::tie(weight, in_cycles) = std::pair(meant, name != "weight");
    }
    // The target of the tagged backtrace may itself be a reference.
    if (backtrace) backtrace = resolved(backtrace);
    if (!backtrace) {
      ++without_;
      return;
    }
    const auto figure = once(weights_, weight, [](const pugi::xml_node& node) {
      return integer(trimmed(node.child_value()));
    });
    const bool known = figure && is_unit_of_all(in_cycles);
    profile_.add(stack_of(backtrace), std::array{int64_t{1}, known ? *figure : 0});
  }

  // The unit of the first value holds for all.
  bool is_unit_of_all(bool in_cycles) {
    if (!weighed_ && in_cycles) profile_.types[1] = {"cycles", Unit::count};
    weighed_ = true;
    const bool is = in_cycles == (profile_.types[1].unit == Unit::count);
    otherwise_ += is ? 0 : 1;
    return is;
  }

  // The value that a node stands for. A node may be long, and many others may refer to it, so its
  // value is computed once.
  template <class Value>
  using Known = std::unordered_map<size_t, Value>;  // by the address of the node
  template <class Value, class Make>
  const Value& once(Known<Value>& known, const pugi::xml_node& node, const Make& make) {
    const auto [at, added] = known.try_emplace(node.hash_value());
    if (added) at->second = make(node);
    return at->second;
  }

  StackId stack_of(const pugi::xml_node& backtrace) {
    return once(stacks_, backtrace, [&](const pugi::xml_node& node) { return push(node); });
  }

  StackId push(const pugi::xml_node& backtrace) {
    std::vector<FrameId> frames;
    for (const pugi::xml_node& child : backtrace.children("frame"))
      frames.push_back(once(frames_, resolved(child), [&](const pugi::xml_node& frame) {
        return profile_.frames.intern(frame_of(frame));
      }));
    if (frames.empty()) return profile_.push({}, "[no stack]", FrameKind::note);
    return push_leaf_first(profile_, {}, frames);
  }

  Frame frame_of(const pugi::xml_node& frame) {
    std::string_view name = frame.attribute("name").value();
    const std::string_view address = frame.attribute("addr").value();
    Frame made;
    if (name.empty() || name == address) {
      name = options_.addresses && !address.empty() ? address : "[unknown]";
      made.kind = FrameKind::unknown;
    }
    made.function = profile_.strings.intern(name);
    if (const pugi::xml_node binary = frame.child("binary"))
      made.module = once(modules_, resolved(binary), [&](const pugi::xml_node& node) {
        return profile_.strings.intern(node.attribute("name").value());
      });
    const pugi::xml_node source = frame.child("source");
    if (options_.lines && source)
      std::tie(made.file, made.line) =
          once(places_, resolved(source), [&](const pugi::xml_node& node) {
            return Place{file_of(node), node.attribute("line").as_uint()};
          });
    return made;
  }

  StringId file_of(const pugi::xml_node& source) {
    const pugi::xml_node path = source.child("path");
    if (!path) return {};
    return once(files_, resolved(path), [&](const pugi::xml_node& node) {
      return profile_.strings.intern(node.child_value());
    });
  }

  Source& source_;
  const ReadOptions& options_;
  Profile profile_;
  Nodes nodes_;
  Known<StackId> stacks_;
  Known<FrameId> frames_;
  using Place = std::pair<StringId, uint32_t>;
  Known<Place> places_;
  Known<StringId> modules_, files_;
  Known<pugi::xml_node> tagged_;
  Known<std::optional<int64_t>> weights_;
  int64_t without_ = 0, otherwise_ = 0;  // rows
  bool weighed_ = false;
};

}  // namespace

bool is_xctrace(std::string_view head) {
  return head.starts_with('<') && head.find("<trace-query-result") != std::string_view::npos;
}

Profile read_xctrace(Source& source, const ReadOptions& options) {
  return XctraceReader(source, options).run();
}

}  // namespace memflame
