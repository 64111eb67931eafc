// SPDX-License-Identifier: BSD-2-Clause
// Deduplicating tables: value -> small id -> value. A profile of a million stacks repeats a few
// thousand names and frames, so each distinct value is stored once and everything else holds 32-bit
// ids (ids.h); equal ids mean equal values. Values lie in a vector in the order they came, and an
// open-addressing index of 8 bytes a slot (hash_index.h) finds them by hash.
// Cost: one hash and about one cache miss per lookup. Ids follow the order of first use; index 0 is
// "none". Hashes are seeded per run (hash.h), so hostile names cannot make lookups slow.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/hash.h"
#include "core/hash_index.h"
#include "core/ids.h"

namespace memflame {

// The next id of a table that has `size` entries.
inline uint32_t next_index(size_t size) {
  if (size > INT32_MAX) throw Error("more than 2,147,483,647 distinct entries in one table");
  return static_cast<uint32_t>(size);
}

// Interns strings. Views returned stay valid as long as the table lives, even if it is moved. A
// table that was moved from is empty. The empty string has id 0.
class StringTable {
 public:
  StringTable() : strings_(1) {}
  StringTable(const StringTable& other) : strings_(1) {
    for (size_t i = 1; i < other.size(); ++i) add(hash_bytes(other.strings_[i]), other.strings_[i]);
  }
  StringTable(StringTable&& other) noexcept : StringTable() { swap(other); }
  StringTable& operator=(StringTable other) noexcept {
    swap(other);
    return *this;
  }
  ~StringTable() = default;

  StringId intern(std::string_view text) { return intern(text, hash_bytes(text)); }
  // The same for a text whose hash_bytes() is known already.
  StringId intern(std::string_view text, uint64_t hash) {
    if (text.empty()) return {};
    const uint32_t known = index_.find(hash, [&](uint32_t id) { return strings_[id] == text; });
    return known != 0 ? StringId{known} : add(hash, text);
  }
  std::string_view operator[](StringId id) const { return strings_[id.index]; }
  size_t size() const { return strings_.size(); }

 private:
  void swap(StringTable& other) noexcept {
    std::swap(strings_, other.strings_);
    std::swap(index_, other.index_);
    std::swap(blocks_, other.blocks_);
    std::swap(room_, other.room_);
    std::swap(left_, other.left_);
  }

  StringId add(uint64_t hash, std::string_view text) {
    const StringId id{next_index(strings_.size())};
    strings_.push_back(keep(text));
    index_.insert(hash, id.index);
    return id;
  }

  std::string_view keep(std::string_view text) {
    constexpr size_t block = size_t{64} << 10U;
    if (text.size() > left_) {
      const size_t size = std::max(block, text.size());
      blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
      room_ = blocks_.back().get();
      left_ = size;
    }
    std::memcpy(room_, text.data(), text.size());
    const std::string_view kept(room_, text.size());
    room_ += text.size();
    left_ -= text.size();
    return kept;
  }

  std::vector<std::string_view> strings_;
  HashIndex index_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* room_ = nullptr;  // in the last block
  size_t left_ = 0;
};

// Interns any hashable, comparable value. Entry 0 is a default-made T that stands for "none".
template <class T, class IdType, class Hash>
class Interner {
 public:
  Interner() : values_(1) {}

  IdType intern(const T& value) {
    const uint64_t hash = Hash{}(value);
    const uint32_t known = index_.find(hash, [&](uint32_t id) { return values_[id] == value; });
    if (known != 0) return IdType{known};
    const IdType id{next_index(values_.size())};
    values_.push_back(value);
    index_.insert(hash, id.index);
    return id;
  }
  const T& operator[](IdType id) const { return values_[id.index]; }
  size_t size() const { return values_.size(); }

 private:
  std::vector<T> values_;
  HashIndex index_;
};

}  // namespace memflame
