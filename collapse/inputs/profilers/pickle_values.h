// SPDX-License-Identifier: BSD-2-Clause
// The values in a pickle of Python's, protocol 4 or 5, as far as plain data needs them. Nothing is
// ever called or imported: an object is the name of its class and its state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace memflame {

class PickleValues {
 public:
  enum class Kind : uint8_t { none, mark, number, text, tuple, list, dict, name, object };
  using Id = uint32_t;

  // Throws Error if it is damaged, ends too soon, or needs what is not read. Takes memory in
  // proportion to the bytes, which must outlive this.
  explicit PickleValues(std::string_view bytes);

  Id root() const { return root_; }
  Kind kind(Id id) const { return values_[id].kind; }
  int64_t number(Id id) const { return static_cast<int64_t>(values_[id].bits); }  // of a number
  std::string_view text(Id id) const;                                             // of a text
  const std::vector<Id>& items(
      Id id) const;  // of a tuple or list; of a dict keys and values in turn

  // The state of an object of that class, a dict; 0 if it is none.
  Id state(Id object, std::string_view module, std::string_view name) const;
  // The value of a text in a dict; 0 if there is none.
  Id find(Id dict, std::string_view key) const;

 private:
  struct Value {
    Kind kind = Kind::none;
    uint32_t part = 0;  // of lists: in lists_; of a text: its length; of a name: its text
    uint64_t bits =
        0;  // a number; of a text: where it is; of a name: its module; of an object: its class
  };

  std::string_view take(size_t size);
  uint64_t take_number(size_t size);
  void step(uint8_t code);
  bool step_plain(uint8_t code);
  Id add(Value value);
  void push(Value value) { stack_.push_back(add(value)); }
  void push_number(int64_t number) {
    push({.kind = Kind::number, .bits = static_cast<uint64_t>(number)});
  }
  void push_text(size_t size);
  void push_list(Kind kind, std::vector<Id> items);
  Id pop();
  std::vector<Id> pop_mark();
  std::vector<Id> pop_count(size_t count);
  void get(uint64_t index);
  void extend(const std::vector<Id>& items);
  void build();

  const std::string_view bytes_;
  std::string_view rest_;
  std::vector<Value> values_{1};  // 0 is none
  std::vector<std::vector<Id>> lists_{1};
  std::vector<Id> stack_, memo_;
  Id root_ = 0;
  bool ended_ = false;
};

}  // namespace memflame
