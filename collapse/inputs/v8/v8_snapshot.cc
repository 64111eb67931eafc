// SPDX-License-Identifier: BSD-2-Clause
// V8's heap snapshots (.heapsnapshot): each object's own size by the shortest path of references
// that holds it. Objects and references are kept as numbers; of the strings, which hold all texts
// of the program, only names of types and properties are.
#include <algorithm>
#include <array>
#include <utility>

#include "collapse/inputs/readers.h"
#include "collapse/inputs/v8/v8_graph.h"
#include "collapse/inputs/v8/v8_retainers.h"
#include "collapse/inputs/v8/v8_rows.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

using SnapshotToken = JsonTokens::Kind;

class SnapshotReader {
 public:
  SnapshotReader(Source& source, const ReadOptions& options)
      : source_(source), options_(options), json_(source), paths_(profile_, graph_, object_types_) {
    profile_.types = {{"self_size", Unit::bytes}, {"objects", Unit::count}};
  }

  Profile run() {
    try {
      if (json_.next() != SnapshotToken::begin_object) json_.fail("not an object,");
      while (json_.next() == SnapshotToken::key) take(std::string(json_.text()));
      json_.next();
    } catch (const Error& error) {
      // The strings come last: without some names the figures are still all there.
      if (!walked_ || options_.refuse_truncated || !tells_of_cut(error.what())) throw;
      profile_.meta.notes.emplace_back(error.what());
    }
    if (graph_.objects() == 0) source_.fail("no objects are in it");
    if (!walked_) source_.fail("its \"edges\" or \"strings\" are missing");
    paths_.add_all();
    describe();
    issues_.finish(profile_);
    return std::move(profile_);
  }

 private:
  void take(const std::string& key) {
    if (key == "snapshot") return take_snapshot();
    if (key == "nodes") return take_objects();
    if (key == "edges") return take_references();
    if (key == "strings") return take_names();
    json_.skip_value();
  }

  void take_snapshot() {
    begin_v8(json_, SnapshotToken::begin_object, "snapshot");
    while (json_.next() == SnapshotToken::key) {
      if (json_.text() == "meta")
        take_meta();
      else if (json_.text() == "node_count")
        stated_objects_ = json_.take_integer().value_or(-1);
      else
        json_.skip_value();
    }
  }

  void take_meta() {
    begin_v8(json_, SnapshotToken::begin_object, "meta");
    while (json_.next() == SnapshotToken::key) {
      if (json_.text() == "node_fields")
        object_fields_.take(json_);
      else if (json_.text() == "edge_fields")
        reference_fields_.take(json_);
      else if (json_.text() == "node_types")
        take_types(object_types_);
      else if (json_.text() == "edge_types")
        take_types(reference_types_);
      else
        json_.skip_value();
    }
  }

  // [["hidden","array",…],"string","number",…]: the first field is the type, which has names.
  void take_types(std::vector<std::string>& types) {
    begin_v8(json_, SnapshotToken::begin_array, "…_types");
    V8Fields names;
    names.take(json_);
    types = std::move(names.names);
    while (json_.next() != SnapshotToken::end_array) json_.skip();
  }

  void take_objects() {
    const size_t type = object_fields_.of("type"), name = object_fields_.of("name"),
                 size = object_fields_.of("self_size"), count = object_fields_.of("edge_count");
    if (std::max({type, name, size, count}) == no_v8_field)
      json_.fail("its objects have no \"type\", \"name\", \"self_size\" or \"edge_count\",");
    if (graph_.objects() != 0) json_.fail("a second \"nodes\"");
    take_v8_rows(json_, object_fields_, "nodes", issues_, [&](const std::vector<int64_t>& row) {
      if (row[size] < 0) issues_.add("an object of a negative size", 0, std::to_string(row[size]));
      const uint8_t of_type = row[type] >= 0 && row[type] < UINT8_MAX
                                  ? static_cast<uint8_t>(row[type])
                                  : static_cast<uint8_t>(UINT8_MAX);
      if (row[count] < 0 ||
          !graph_.add_object(of_type, index(row[name]), std::max(row[size], int64_t{0}),
                             static_cast<uint64_t>(row[count])))
        json_.fail("more objects or references than are read,");
    });
  }

  static V8Graph::Index index(int64_t number) {
    return number >= 0 && number < V8Graph::none ? static_cast<V8Graph::Index>(number)
                                                 : V8Graph::none;
  }

  void take_references() {
    const size_t type = reference_fields_.of("type"), name = reference_fields_.of("name_or_index"),
                 to = reference_fields_.of("to_node");
    if (std::max({type, name, to}) == no_v8_field)
      json_.fail("its edges have no \"type\", \"name_or_index\" or \"to_node\",");
    if (graph_.objects() == 0) json_.fail("\"edges\" come before \"nodes\",");
    if (references_read_) json_.fail("a second \"edges\"");
    references_read_ = true;
    const std::vector<ReferenceType> types = known_types();
    const auto width = static_cast<int64_t>(object_fields_.names.size());
    take_v8_rows(json_, reference_fields_, "edges", issues_, [&](const std::vector<int64_t>& row) {
      const ReferenceType known = row[type] >= 0 && row[type] < std::ssize(types)
                                      ? types[static_cast<size_t>(row[type])]
                                      : ReferenceType{};
      const bool inside = row[to] >= 0 && row[to] % width == 0 &&
                          static_cast<uint64_t>(row[to] / width) < graph_.objects();
      if (!inside) issues_.add("a reference to no object", 0, std::to_string(row[to]));
      if (!graph_.add_reference({.to = inside ? index(row[to] / width) : 0,
                                 .name = index(row[name]),
                                 .kind = known.kind},
                                known.strong && inside))
        json_.fail("more references than are read,");
    });
    if (const uint64_t missing = graph_.missing_references(); missing != 0)
      issues_.add("fewer edges than its objects have", 0, std::to_string(missing));
    if (graph_.surplus_references() != 0)
      issues_.add("more edges than its objects have", 0,
                  std::to_string(graph_.surplus_references()));
  }

  struct ReferenceType {
    V8EdgeKind kind = V8EdgeKind::indexed;
    bool strong = true;
  };

  std::vector<ReferenceType> known_types() const {
    std::vector<ReferenceType> types;
    for (const std::string& name : reference_types_) {
      ReferenceType type;
      if (name == "property" || name == "context" || name == "shortcut")
        type.kind = V8EdgeKind::named;
      if (name == "internal") type.kind = V8EdgeKind::internal;
      type.strong = name != "weak";
      types.push_back(type);
    }
    return types;
  }

  void take_names() {
    if (!references_read_) json_.fail("the strings come before the edges that use them,");
    if (walked_) json_.fail("a second \"strings\"");
    const auto synthetic = std::find(object_types_.begin(), object_types_.end(), "synthetic");
    graph_.walk(static_cast<uint8_t>(synthetic - object_types_.begin()));
    paths_.want_names();
    walked_ = true;
    begin_v8(json_, SnapshotToken::begin_array, "strings");
    for (V8Graph::Index number = 0; json_.next() != SnapshotToken::end_array; ++number) {
      if (json_.kind() != SnapshotToken::string) json_.fail("not a string among the strings,");
      paths_.take_name(number, json_.text());
    }
  }

  void describe() {
    profile_.meta.title = "V8 heap";
    const auto objects = static_cast<int64_t>(graph_.objects());
    if (stated_objects_ != -1 && stated_objects_ != objects)
      issues_.add("not as many objects as \"node_count\" says", 0, std::to_string(stated_objects_));
    const auto apart = objects - static_cast<int64_t>(graph_.order().size());
    if (apart != 0)
      profile_.meta.notes.push_back(with_commas(apart) +
                                    (apart == 1 ? " object is" : " objects are") +
                                    " not reachable by strong references");
    if (paths_.missing_names() != 0)
      profile_.meta.notes.push_back("names are missing at the end of the file: " +
                                    with_commas(static_cast<int64_t>(paths_.missing_names())));
  }

  Source& source_;
  const ReadOptions& options_;
  JsonTokens json_;
  Profile profile_;
  Issues issues_;
  V8Fields object_fields_, reference_fields_;
  std::vector<std::string> object_types_, reference_types_;
  V8Graph graph_;
  V8Retainers paths_;
  int64_t stated_objects_ = -1;
  bool references_read_ = false, walked_ = false;
};

}  // namespace

// A snapshot with allocation stacks has functions, and is v8-heap's.
bool is_v8_snapshot(std::string_view head) {
  constexpr std::string_view count = "\"trace_function_count\":";
  if (!begins_as_json(head, R"({"snapshot":{"meta":{)")) return false;
  const size_t at = head.find(count);
  if (at == head.npos) return false;
  const std::string_view after = head.substr(at + count.size());
  const size_t digit = after.find_first_not_of(" \t\r\n");
  return digit != after.npos && after[digit] == '0';
}

Profile read_v8_snapshot(Source& source, const ReadOptions& options) {
  return SnapshotReader(source, options).run();
}

}  // namespace memflame
