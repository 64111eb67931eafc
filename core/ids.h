// SPDX-License-Identifier: BSD-2-Clause
// Strong 32-bit indices: a StackId cannot be passed where a FrameId is meant.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace memflame {

// Index 0 is "none" for every kind of id; tables keep a dummy entry there.
template <class Tag>
struct Id {
  uint32_t index = 0;
  explicit operator bool() const { return index != 0; }
  friend auto operator<=>(Id, Id) = default;
};

using StringId = Id<struct StringTag>;
using FrameId = Id<struct FrameTag>;
using StackId = Id<struct StackTag>;
using ModuleId = Id<struct ModuleTag>;
using RawStackId = Id<struct RawStackTag>;
using SpaceId = Id<struct SpaceTag>;
using LocationId = Id<struct LocationTag>;

}  // namespace memflame

template <class Tag>
struct std::hash<memflame::Id<Tag>> {
  size_t operator()(memflame::Id<Tag> id) const noexcept { return std::hash<uint32_t>{}(id.index); }
};
