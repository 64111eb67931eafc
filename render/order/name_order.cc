// SPDX-License-Identifier: BSD-2-Clause
#include "render/order/name_order.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace memflame {
namespace {

struct Item {
  uint64_t key = 0;
  uint32_t name = 0;
};

constexpr size_t key_bytes = 7;
constexpr uint64_t more = key_bytes + 1;

// Seven bytes of a name from `depth` on, then how many bytes are left (`more`: more than these), so
// that a name comes before the names it begins.
uint64_t key_of(std::string_view name, size_t depth) {
  const std::string_view rest = name.substr(std::min(depth, name.size()));
  uint64_t key = 0;
  if (rest.size() > key_bytes) {
    std::memcpy(&key, rest.data(), sizeof key);
    return (__builtin_bswap64(key) & ~uint64_t{0xFF}) | more;
  }
  for (size_t i = 0; i < key_bytes; ++i)
    key = (key << 8U) | (i < rest.size() ? static_cast<unsigned char>(rest[i]) : 0U);
  return (key << 8U) | std::min<uint64_t>(rest.size(), more);
}

}  // namespace

std::vector<uint32_t> name_order(std::span<const std::string_view> names) {
  std::vector<Item> items(names.size());
  for (uint32_t i = 0; i < items.size(); ++i) items[i].name = i;
  struct Range {
    size_t begin = 0, end = 0;
    size_t depth = 0;  // bytes that all of them share
  };
  std::vector<Range> pending{{0, items.size(), 0}};
  while (!pending.empty()) {
    const auto [begin, end, depth] = pending.back();
    pending.pop_back();
    const auto first = items.begin() + static_cast<ptrdiff_t>(begin);
    const auto last = items.begin() + static_cast<ptrdiff_t>(end);
    for (auto item = first; item != last; ++item) item->key = key_of(names[item->name], depth);
    std::sort(first, last, [](const Item& a, const Item& b) { return a.key < b.key; });
    for (size_t i = begin; i < end;) {
      size_t same = i + 1;
      while (same < end && items[same].key == items[i].key) ++same;
      if (same - i > 1 && (items[i].key & 0xFFU) == more)
        pending.push_back({i, same, depth + key_bytes});
      i = same;
    }
  }
  std::vector<uint32_t> order;
  order.reserve(items.size());
  for (const Item& item : items) order.push_back(item.name);
  return order;
}

}  // namespace memflame
