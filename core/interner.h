// Deduplicating tables: value -> small id -> value.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/error.h"
#include "core/ids.h"

namespace memflame {

// Interns strings. Views returned stay valid as long as the table lives (a deque never moves its
// elements). The empty string is id 0.
class StringTable {
 public:
  StringTable() { strings_.emplace_back(); }
  StringTable(const StringTable& other) : strings_(other.strings_) { reindex(); }
  StringTable(StringTable&&) = default;
  StringTable& operator=(StringTable other) noexcept {
    strings_ = std::move(other.strings_);
    ids_ = std::move(other.ids_);
    return *this;
  }
  ~StringTable() = default;

  StringId intern(std::string_view text) {
    if (text.empty()) return {};
    if (auto known = ids_.find(text); known != ids_.end()) return known->second;
    const StringId id{next_index(strings_.size())};
    ids_.emplace(strings_.emplace_back(text), id);
    return id;
  }
  std::string_view operator[](StringId id) const { return strings_[id.index]; }
  size_t size() const { return strings_.size(); }

  static uint32_t next_index(size_t size) {
    if (size > UINT32_MAX) throw Error("more than 4,294,967,295 distinct entries in one table");
    return static_cast<uint32_t>(size);
  }

 private:
  void reindex() {
    for (size_t i = 1; i < strings_.size(); ++i)
      ids_.emplace(strings_[i], StringId{static_cast<uint32_t>(i)});
  }

  std::deque<std::string> strings_;
  std::unordered_map<std::string_view, StringId> ids_;
};

// Interns any hashable, comparable value. Entry 0 is a default-made T that stands for "none".
template <class T, class IdType, class Hash>
class Interner {
 public:
  Interner() { values_.emplace_back(); }

  IdType intern(const T& value) {
    const auto [place, added] = ids_.try_emplace(value, IdType{});
    if (added) {
      place->second = IdType{StringTable::next_index(values_.size())};
      values_.push_back(value);
    }
    return place->second;
  }
  const T& operator[](IdType id) const { return values_[id.index]; }
  size_t size() const { return values_.size(); }

 private:
  std::vector<T> values_;
  std::unordered_map<T, IdType, Hash> ids_;
};

// Mixes two 64-bit words (the finalizer of splitmix64, by Sebastiano Vigna, public domain).
inline uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a ^ (b + 0x9e3779b97f4a7c15ULL);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace memflame
