// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

bool has_note(const Profile& p, std::string_view part) {
  return std::any_of(p.meta.notes.begin(), p.meta.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

enum Type : uint8_t { hidden, array, string, object, closure, native, synthetic };
enum Kind : uint8_t { context, element, property, internal, weak };

// Builds a snapshot. The references of an object are added behind it.
class Snapshot {
 public:
  size_t add(Type type, const std::string& name, int64_t size) {
    objects_.push_back({type, index(name), size});
    return objects_.size() - 1;
  }
  void refer(size_t from, Kind kind, const std::string& name, size_t to) {
    objects_[from].references.push_back(
        {kind, kind == element ? std::stoul(name) : index(name), to});
  }
  // Without the end that a cut takes away.
  std::string text(const std::string& functions = "0") const {
    std::string nodes, edges, names;
    for (const Object& each : objects_) {
      nodes += (nodes.empty() ? "" : ",") + std::to_string(each.type) + "," +
               std::to_string(each.name) + ",7," + std::to_string(each.size) + "," +
               std::to_string(each.references.size());
      for (const Reference& to : each.references)
        edges += (edges.empty() ? "" : ",") + std::to_string(to.kind) + "," +
                 std::to_string(to.name) + "," + std::to_string(to.to * 5);
    }
    for (const std::string& name : names_) names += (names.empty() ? "\"" : ",\"") + name + "\"";
    return R"({"snapshot":{"meta":{"node_fields":["type","name","id","self_size","edge_count"],)"
           R"("node_types":[["hidden","array","string","object","closure","native","synthetic"],)"
           R"("string","number"],"edge_fields":["type","name_or_index","to_node"],"edge_types":)"
           R"([["context","element","property","internal","weak"],"node"]},"node_count":)" +
           std::to_string(objects_.size()) + R"(,"edge_count":1,"trace_function_count": )" +
           functions + "},\n\"nodes\":[" + nodes + "],\n\"edges\":[" + edges +
           "],\n\"samples\":[],\"strings\":[" + names + "]}";
  }

 private:
  struct Reference {
    Kind kind;
    size_t name, to;
  };
  struct Object {
    Type type;
    size_t name;
    int64_t size;
    std::vector<Reference> references{};
  };
  size_t index(const std::string& name) {
    const auto at = std::find(names_.begin(), names_.end(), name);
    if (at != names_.end()) return static_cast<size_t>(at - names_.begin());
    names_.push_back(name);
    return names_.size() - 1;
  }
  std::vector<Object> objects_;
  std::vector<std::string> names_;
};

// A root with a global object.
Snapshot with_global(size_t& global) {
  Snapshot made;
  made.add(synthetic, "", 0);
  global = made.add(object, "global", 100);
  made.refer(0, element, "1", global);
  return made;
}

}  // namespace

TEST_CASE("v8-snapshot: what node 20 writes, with the sum of all sizes") {
  const Profile p = read_data("v8-snapshot/node.heapsnapshot");
  CHECK(stacks(p, "objects").at("global;list: Link;next: Link") == 39);
  CHECK(stacks(p, "objects").at("global;cache: Map;<table>: (array);[]: Array;[]: Leaf") == 24);
  CHECK(p.total(0) == 13560);
  CHECK(p.total(1) == 268);
  CHECK(p.losses.lost_events() == 0);
}

TEST_CASE("v8-snapshot: an object's size is below the shortest path that holds it") {
  size_t global = 0;
  Snapshot made = with_global(global);
  const size_t cache = made.add(object, "Map", 32), table = made.add(array, "", 200),
               leaf = made.add(object, "Leaf", 24), other = made.add(object, "Leaf", 24),
               text = made.add(string, "a secret", 40), code = made.add(closure, "work", 64),
               scope = made.add(hidden, "system / Context", 48),
               part = made.add(object, "Part", 1000), lost = made.add(object, "Lost", 5),
               node = made.add(native, "<div class='x' id='y'>", 7);
  made.refer(global, property, "cache", cache);
  made.refer(global, property, "work", code);
  made.refer(cache, internal, "table", table);
  made.refer(table, internal, "12", leaf);
  made.refer(table, element, "13", other);
  made.refer(leaf, property, "text", text);
  made.refer(other, property, "7", node);
  made.refer(code, internal, "context", scope);
  made.refer(scope, context, "part", part);
  made.refer(leaf, property, "longer", part);  // not as short
  made.refer(scope, internal, "5 / part of key (Leaf @12345) in WeakMap (table @6)", node);
  made.refer(scope, weak, "9", lost);
  CHECK(recognised(made.text()) == "v8-snapshot");
  const Profile p = read_text(made.text());
  const std::string leaves = "global;cache: Map;<table>: (array);[]: Leaf";
  CHECK(stacks(p) ==
        Stacks{{"global", 100},
               {"global;cache: Map", 32},
               {"global;cache: Map;<table>: (array)", 200},
               {leaves, 48},
               {leaves + ";text: (string)", 40},
               {"global;work: work()", 64},
               {"global;work: work();<context>: system / Context", 48},
               {"global;work: work();<context>: system / Context;part: Part", 1000},
               {"global;work: work();<context>: system / Context;<part of key (Leaf) in WeakMap "
                "(table)>: <div>",
                7},
               {"[not reachable by strong references];Lost", 5}});
  CHECK(p.total(0) == 1544);
  CHECK(p.total(1) == 11);
  CHECK(p.types[p.shown] == ValueType{"self_size", Unit::bytes});
  CHECK(has_note(p, "1 object is not reachable by strong references"));
  CHECK(p.losses.lost_events() == 0);
}

TEST_CASE("v8-snapshot: variables of the program come before V8's own roots") {
  Snapshot made;
  made.add(synthetic, "", 0);
  const size_t roots = made.add(synthetic, "(GC roots)", 0), global = made.add(object, "global", 1),
               list = made.add(object, "List", 2), link = made.add(object, "Link", 4),
               own = made.add(object, "Own", 8);
  made.refer(0, element, "1", roots);
  made.refer(0, element, "2", global);
  made.refer(roots, element, "1", link);
  made.refer(roots, element, "2", own);
  made.refer(global, property, "list", list);
  made.refer(list, property, "next", link);
  CHECK(stacks(read_text(made.text())) == Stacks{{"global", 1},
                                                 {"global;list: List", 2},
                                                 {"global;list: List;next: Link", 4},
                                                 {"(GC roots);[]: Own", 8}});
}

TEST_CASE("v8-snapshot: lists and dictionaries are folded") {
  size_t global = 0;
  Snapshot made = with_global(global);
  constexpr int many = 5000;
  const size_t map = made.add(object, "Map", 1);
  size_t last = made.add(object, "List", 1);
  made.refer(global, property, "map", map);
  made.refer(global, property, "list", last);
  for (int i = 0; i < many; ++i) {
    const size_t link = made.add(object, "Link", 1), cell = made.add(array, "", 2);
    made.refer(last, property, "next", link);
    made.refer(link, internal, "elements", cell);
    last = cell;
    made.refer(map, property, "key" + std::to_string(i), made.add(object, "Value", 10));
  }
  const Profile p = read_text(made.text());
  const std::string link = "global;list: List;next: Link";
  CHECK(stacks(p) == Stacks{{"global", 100},
                            {"global;map: Map", 1},
                            {"global;map: Map;[key]: Value", 10 * many},
                            {"global;list: List", 1},
                            {link, 1},
                            {link + ";<elements>: (array)", 2 * many},
                            {link + ";<elements>: (array);next: Link", many - 1}});
}

TEST_CASE("v8-snapshot: snapshots with allocation stacks are v8-heap's") {
  size_t global = 0;
  const Snapshot made = with_global(global);
  CHECK(recognised(made.text("12")) == "v8-heap");
  CHECK(stacks(read_text(made.text("12"), "v8-snapshot")) == Stacks{{"global", 100}});
}

TEST_CASE("v8-snapshot: cut within its strings it has all figures; before, it is refused") {
  size_t global = 0;
  Snapshot made = with_global(global);
  made.refer(global, property, "late", made.add(object, "VeryLate", 50));
  const std::string text = made.text();
  const Profile p = read_text(text.substr(0, text.find("\"late") + 3));
  CHECK(stacks(p) == Stacks{{"global", 100}, {"global;[name not in the file]: VeryLate", 50}});
  CHECK(has_note(p, "ends in the middle"));
  CHECK(has_note(p, "names are missing at the end of the file: 1"));
  CHECK_FALSE(
      error_of(text.substr(0, text.find("\"late")), {}, {.refuse_truncated = true}).empty());
  for (size_t size = 1; size < text.find("\"strings\""); ++size)
    CHECK_MESSAGE(!error_of(text.substr(0, size), "v8-snapshot").empty(), size);
}

TEST_CASE("v8-snapshot: damaged and hostile input") {
  size_t global = 0;
  Snapshot made = with_global(global);
  made.refer(global, property, "far", 400);
  const Profile far = read_text(made.text());
  CHECK(stacks(far) == Stacks{{"global", 100}});
  CHECK(far.losses[Loss::input_line].events == 1);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = with_global(global).text();
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  CHECK(read_text(with("3,1,7,100,0", "3,1,7,-5,0,3,1,7,100,0")).losses[Loss::input_line].events ==
        2);
  CHECK(read_text(with("3,1,7,100,0", "99,1,7,100,3")).losses[Loss::input_line].events == 1);
  CHECK(stacks(read_text(with("1,1,5]", "77,1,5,1,1,5]"))) == Stacks{{"global", 100}});
  CHECK(stacks(read_text(with("1,1,5]", "1,1,5,1,1]"))).size() == 1);
  for (const auto& change :
       std::vector<std::pair<std::string, std::string>>{{"3,1,7,100,0", "3,1,7,100,-1"},
                                                        {"3,1,7,100,0", "3,1,7,100,9999999999"},
                                                        {"\"self_size\"", "\"x\""},
                                                        {"\"to_node\"", "\"x\""},
                                                        {"\"nodes\"", "\"x\""},
                                                        {"\"edges\"", "\"x\""},
                                                        {"\"strings\"", "\"x\""},
                                                        {"\"samples\":[]", "\"edges\":[]"},
                                                        {"\"samples\":[]", "\"strings\":[]"},
                                                        {"\"\",\"global\"", "7"},
                                                        {"[[\"hidden\"", "[\"hidden\",[\"x\""}})
    CHECK_MESSAGE(!error_of(with(change.first, change.second), "v8-snapshot").empty(),
                  change.second);
  const std::string most = "3,1,7,9223372036854775807,0";
  CHECK(error_of(with("3,1,7,100,0", most + "," + most)).find("64 bits") != std::string::npos);
}
