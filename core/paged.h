// SPDX-License-Identifier: BSD-2-Clause
// A table by index, most of which may be empty: entries lie in pages, and a page of which no entry
// is used takes no room. Used where something is told by a number that only grows, such as the
// processes of a long run, of which few are of interest at a time.
// Entries keep their addresses for as long as they are used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace memflame {

template <class T>
class Paged {
 public:
  Paged() = default;
  explicit Paged(size_t size) { resize(size); }
  Paged(std::initializer_list<T> entries) {
    for (const T& entry : entries) push_back(entry);
  }
  Paged(const Paged& other) : size_(other.size_) {
    for (const Owned& page : other.pages_)
      pages_.push_back(page ? std::make_unique<Page>(*page) : Owned());
  }
  Paged(Paged&& other) noexcept
      : pages_(std::exchange(other.pages_, {})), size_(std::exchange(other.size_, 0)) {}
  Paged& operator=(Paged other) noexcept {
    pages_.swap(other.pages_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Paged() = default;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // An entry that is not used is a default-made T.
  const T& operator[](size_t i) const {
    static const T none{};
    const Owned& page = pages_[i / entries_of_a_page];
    return page ? page->entries[i % entries_of_a_page] : none;
  }
  // The entry is used from now on.
  T& operator[](size_t i) {
    Owned& page = pages_[i / entries_of_a_page];
    if (!page) page = std::make_unique<Page>();
    page->used |= bit(i);
    return page->entries[i % entries_of_a_page];
  }
  const T& at(size_t i) const {
    if (i >= size_) throw std::out_of_range("a table has no such entry");
    return (*this)[i];
  }
  T& back() { return (*this)[size_ - 1]; }
  const T& back() const { return (*this)[size_ - 1]; }

  T& emplace_back() {
    resize(size_ + 1);
    return back();
  }
  void push_back(T entry) { emplace_back() = std::move(entry); }
  // What it grows by is not used.
  void resize(size_t size) {
    for (size_t i = size; i < size_ && i % entries_of_a_page != 0; ++i) reset(i);
    pages_.resize((size + entries_of_a_page - 1) / entries_of_a_page);
    size_ = size;
  }
  void clear() { resize(0); }
  // The entry is not used any more.
  void reset(size_t i) {
    Owned& page = pages_[i / entries_of_a_page];
    if (!page) return;
    page->entries[i % entries_of_a_page] = T{};
    page->used &= ~bit(i);
    if (page->used == 0) page.reset();
  }
  bool is_used(size_t i) const {
    const Owned& page = pages_[i / entries_of_a_page];
    return page && (page->used & bit(i)) != 0;
  }

  // All entries, used or not.
  class Iterator {
   public:
    Iterator(const Paged& table, size_t at) : table_(&table), at_(at) {}
    const T& operator*() const { return (*table_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const Paged* table_;
    size_t at_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size_}; }

 private:
  static constexpr size_t entries_of_a_page = 64;
  struct Page {
    std::array<T, entries_of_a_page> entries{};
    uint64_t used = 0;
  };
  using Owned = std::unique_ptr<Page>;
  static uint64_t bit(size_t i) { return uint64_t{1} << (i % entries_of_a_page); }

  std::vector<Owned> pages_;
  size_t size_ = 0;
};

}  // namespace memflame
