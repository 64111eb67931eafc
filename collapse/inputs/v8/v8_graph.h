// SPDX-License-Identifier: BSD-2-Clause
// The objects of a V8 heap snapshot and the references between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace memflame {

enum class V8EdgeKind : uint8_t {
  named,     // a property or a variable: its name is a string
  internal,  // V8's own: its name is a string, often a number
  indexed,   // an element of an array, or something without a name
};

// Memory is 17 bytes for an object and 9 for a reference, and 12 for an object that is reached.
class V8Graph {
 public:
  using Index = uint32_t;
  static constexpr Index none = UINT32_MAX;
  static constexpr size_t most = size_t{1} << 31U;  // of objects, of references

  struct Edge {
    Index to = 0, name = 0;  // an object; a string, or an index
    V8EdgeKind kind = V8EdgeKind::indexed;
  };

  // All objects first, then the references of each, in the order of the objects. Both return false
  // beyond `most`.
  bool add_object(uint8_t type, Index name, int64_t size, uint64_t references);
  // A reference that keeps nothing alive (`strong` is false) is only counted.
  bool add_reference(const Edge& edge, bool strong);

  size_t objects() const { return sizes_.size(); }
  uint8_t type(Index object) const { return types_[object]; }
  Index name(Index object) const { return names_[object]; }
  int64_t size(Index object) const { return sizes_[object]; }

  // References that the objects announced, but that did not come.
  uint64_t missing_references();
  uint64_t surplus_references() const { return surplus_; }

  // Goes over all strong references, breadth first: from the global objects, and then from all that
  // the first object, the root, refers to. Objects of the type `synthetic` there are V8's own
  // roots, as the machine's stack: what the program's variables hold is better not told by them.
  // Then order() has the objects that were reached, the root first, each after its holder.
  void walk(uint8_t synthetic);
  const std::vector<Index>& order() const { return order_; }
  bool reached(Index object) const { return object == 0 || holders_[object] != none; }
  Index holder(Index object) const { return holders_[object]; }
  Edge reference(Index object) const { return edge(by_[object]); }  // from its holder
  size_t named_references(Index object) const;

 private:
  Edge edge(size_t i) const { return {to_[i], edge_names_[i], edge_kinds_[i]}; }
  bool next_owner();
  void reach_from(Index holder, bool all, uint8_t synthetic);

  std::vector<uint8_t> types_;
  std::vector<Index> names_;
  std::vector<int64_t> sizes_;
  // The number of references of each object, and once they are read, the place of the first.
  std::vector<Index> begins_;
  std::vector<Index> to_, edge_names_;
  std::vector<V8EdgeKind> edge_kinds_;
  size_t owner_ = 0;  // the references that are read now are those of the object before
  uint64_t left_ = 0, surplus_ = 0;
  std::vector<Index> order_, holders_, by_;
};

}  // namespace memflame
