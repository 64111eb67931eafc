// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/profilers/pickle_values.h"

#include <string>

#include "core/error.h"

namespace memflame {
namespace {

// Codes of Python's pickletools, those that plain data needs.
enum Code : uint8_t {
  code_mark = '(',
  code_stop = '.',
  code_binint = 'J',
  code_binint1 = 'K',
  code_binint2 = 'M',
  code_none = 'N',
  code_binunicode = 'X',
  code_append = 'a',
  code_build = 'b',
  code_appends = 'e',
  code_binget = 'h',
  code_long_binget = 'j',
  code_setitem = 's',
  code_tuple = 't',
  code_setitems = 'u',
  code_empty_list = ']',
  code_empty_dict = '}',
  code_empty_tuple = ')',
  code_proto = 0x80,
  code_newobj = 0x81,
  code_tuple1 = 0x85,
  code_tuple3 = 0x87,
  code_long1 = 0x8a,
  code_short_binunicode = 0x8c,
  code_binunicode8 = 0x8d,
  code_stack_global = 0x93,
  code_memoize = 0x94,
  code_frame = 0x95,
};

}  // namespace

PickleValues::PickleValues(std::string_view bytes) : bytes_(bytes), rest_(bytes) {
  while (!ended_) step(static_cast<uint8_t>(take_number(1)));
  root_ = pop();
}

std::string_view PickleValues::take(size_t size) {
  if (size > rest_.size()) throw Error("the pickle ends in the middle");
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

uint64_t PickleValues::take_number(size_t size) {
  const std::string_view bytes = take(size);
  uint64_t number = 0;
  for (size_t i = size; i-- > 0;) number = number << 8U | static_cast<unsigned char>(bytes[i]);
  return number;
}

PickleValues::Id PickleValues::add(Value value) {
  if (values_.size() == UINT32_MAX) throw Error("the pickle has more than 2^32 values");
  values_.push_back(value);
  return static_cast<Id>(values_.size() - 1);
}

void PickleValues::push_list(Kind kind, std::vector<Id> items) {
  lists_.push_back(std::move(items));
  push({.kind = kind, .part = static_cast<uint32_t>(lists_.size() - 1)});
}

void PickleValues::push_text(size_t size) {
  const auto at = static_cast<uint64_t>(rest_.data() - bytes_.data());
  take(size);
  if (size > UINT32_MAX) throw Error("a text of the pickle is longer than 4 GiB");
  push({.kind = Kind::text, .part = static_cast<uint32_t>(size), .bits = at});
}

std::string_view PickleValues::text(Id id) const {
  const Value& value = values_[id];
  return value.kind == Kind::text ? bytes_.substr(value.bits, value.part) : std::string_view{};
}

PickleValues::Id PickleValues::pop() {
  if (stack_.empty()) throw Error("the pickle is damaged: a value is missing");
  const Id id = stack_.back();
  stack_.pop_back();
  return id;
}

std::vector<PickleValues::Id> PickleValues::pop_count(size_t count) {
  if (stack_.size() < count) throw Error("the pickle is damaged: a value is missing");
  std::vector<Id> items(stack_.end() - static_cast<ptrdiff_t>(count), stack_.end());
  stack_.resize(stack_.size() - count);
  return items;
}

// The values above the last mark, which goes too.
std::vector<PickleValues::Id> PickleValues::pop_mark() {
  size_t at = stack_.size();
  while (at > 0 && values_[stack_[at - 1]].kind != Kind::mark) --at;
  if (at == 0) throw Error("the pickle is damaged: a mark is missing");
  std::vector<Id> items = pop_count(stack_.size() - at);
  stack_.pop_back();
  return items;
}

void PickleValues::get(uint64_t index) {
  if (index >= memo_.size()) throw Error("the pickle is damaged: it refers to a later value");
  stack_.push_back(memo_[index]);
}

void PickleValues::extend(const std::vector<Id>& items) {
  const Id into = stack_.empty() ? 0 : stack_.back();
  const Kind kind = values_[into].kind;
  if (kind != Kind::list && kind != Kind::dict)
    throw Error("the pickle is damaged: values are added to neither a list nor a dict");
  std::vector<Id>& list = lists_[values_[into].part];
  list.insert(list.end(), items.begin(), items.end());
}

void PickleValues::build() {
  const Id state = pop();
  const Id object = stack_.empty() ? 0 : stack_.back();
  if (values_[object].kind != Kind::object || values_[state].kind != Kind::dict)
    throw Error("the pickle has an object that is not plain data");
  values_[object].part = values_[state].part;
}

// Values that take no others from the stack; false for other codes.
bool PickleValues::step_plain(uint8_t code) {
  switch (code) {
    case code_proto:
      if (const uint64_t protocol = take_number(1); protocol != 4 && protocol != 5)
        throw Error("the pickle is of protocol " + std::to_string(protocol) + ", not 4 or 5");
      return true;
    case code_frame:
      take(8);
      return true;
    case code_mark:
      return push({.kind = Kind::mark}), true;
    case code_none:
      return push({}), true;
    case code_binint:
      return push_number(static_cast<int32_t>(static_cast<uint32_t>(take_number(4)))), true;
    case code_binint1:
      return push_number(static_cast<int64_t>(take_number(1))), true;
    case code_binint2:
      return push_number(static_cast<int64_t>(take_number(2))), true;
    case code_long1: {
      const size_t size = take_number(1);
      if (size > 8) throw Error("a number leaves the range of 64 bits");
      const uint64_t bits = take_number(size);
      const bool negative = size != 0 && (bits >> (8 * size - 1)) != 0;
      const uint64_t sign = negative && size < 8 ? ~uint64_t{0} << (8 * size) : 0;
      return push_number(static_cast<int64_t>(bits | sign)), true;
    }
    case code_short_binunicode:
      return push_text(take_number(1)), true;
    case code_binunicode:
      return push_text(take_number(4)), true;
    case code_binunicode8:
      return push_text(take_number(8)), true;
    case code_empty_tuple:
      return push_list(Kind::tuple, {}), true;
    case code_empty_list:
      return push_list(Kind::list, {}), true;
    case code_empty_dict:
      return push_list(Kind::dict, {}), true;
    default:
      return false;
  }
}

void PickleValues::step(uint8_t code) {
  if (step_plain(code)) return;
  switch (code) {
    case code_memoize:
      memo_.push_back(pop());
      return get(memo_.size() - 1);
    case code_binget:
      return get(take_number(1));
    case code_long_binget:
      return get(take_number(4));
    case code_tuple:
      return push_list(Kind::tuple, pop_mark());
    case code_append:
      return extend({pop()});
    case code_appends:
    case code_setitems:
      return extend(pop_mark());
    case code_setitem:
      return extend(pop_count(2));
    case code_stack_global: {
      const std::vector<Id> names = pop_count(2);
      return push({.kind = Kind::name, .part = names[1], .bits = names[0]});
    }
    case code_newobj: {
      const std::vector<Id> parts = pop_count(2);
      return push({.kind = Kind::object, .bits = parts[0]});
    }
    case code_build:
      return build();
    case code_stop:
      ended_ = true;
      return;
    default:
      if (code >= code_tuple1 && code <= code_tuple3)
        return push_list(Kind::tuple, pop_count(size_t{code} - code_tuple1 + 1));
      throw Error("the pickle needs code " + std::to_string(code) +
                  ", which plain data does not have");
  }
}

const std::vector<PickleValues::Id>& PickleValues::items(Id id) const {
  const Value& value = values_[id];
  const bool has_items = value.kind == Kind::tuple || value.kind == Kind::list ||
                         value.kind == Kind::dict || value.kind == Kind::object;
  return lists_[has_items ? value.part : 0];
}

PickleValues::Id PickleValues::state(Id object, std::string_view module,
                                     std::string_view name) const {
  const Value& value = values_[object];
  if (value.kind != Kind::object) return 0;
  const Value& type = values_[static_cast<Id>(value.bits)];
  const bool same = type.kind == Kind::name && text(static_cast<Id>(type.bits)) == module &&
                    text(type.part) == name;
  return same ? object : 0;
}

PickleValues::Id PickleValues::find(Id dict, std::string_view key) const {
  const std::vector<Id>& all = items(dict);
  for (size_t i = 0; i + 1 < all.size(); i += 2)
    if (values_[all[i]].kind == Kind::text && text(all[i]) == key) return all[i + 1];
  return 0;
}

}  // namespace memflame
