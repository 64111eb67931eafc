// The stacks of a profile as text and numbers, for the outputs that list them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/profile.h"

namespace memflame {

// Walks through the stacks that have values, in the order of their frames' names, compared
// bytewise frame by frame. Stacks that read the same are one row. Memory is 8 bytes a stack, and
// one path.
class StackRows {
 public:
  // `names` is by FrameId::index; both must outlive this.
  StackRows(const Profile& profile, std::span<const std::string_view> names, char separator);

  // The next row; false behind the last. Throws Error when a sum leaves 64 bits.
  bool next();

  std::string_view path() const { return path_; }              // names, root first
  std::span<const int64_t> values() const { return values_; }  // one per column
  size_t depth() const { return ends_.size(); }
  size_t kept() const { return kept_; }  // frames in common with the row before

  // The stacks of the profile that read like the first `depth` frames of the row.
  std::span<const StackId> stacks(size_t depth) const;

 private:
  struct Pending {
    StackId stack;
    uint32_t depth = 0;
  };

  void list_callees();
  void list_pending(size_t depth);
  void enter();
  bool take_values();

  const Profile& profile_;
  const std::span<const std::string_view> names_;
  const char separator_;
  std::vector<uint32_t> ranks_;  // places of the names among all, by FrameId::index
  std::vector<bool> touched_;    // whether it has values, by StackId::index
  // callees_[first_[n], first_[n + 1]) are those of stack n.
  std::vector<uint32_t> first_, callees_;
  std::vector<Pending> pending_;    // what comes next is at the end
  std::vector<StackId> levels_;     // stacks of the path, of all depths
  std::vector<size_t> level_ends_;  // where those of each depth end
  std::vector<size_t> ends_;        // of the names in the path
  std::string path_;
  std::vector<int64_t> values_;
  size_t kept_ = 0;
  bool begun_ = false;
};

}  // namespace memflame
