// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/java/jfr_types.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace memflame {
namespace {

using JfrForm = JfrType::Form;

// Types that are not made of fields, whatever their description says.
constexpr std::array<std::pair<std::string_view, JfrForm>, 9> jfr_plain_types{{
    {"boolean", JfrForm::byte},
    {"byte", JfrForm::byte},
    {"char", JfrForm::number},
    {"short", JfrForm::number},
    {"int", JfrForm::number},
    {"long", JfrForm::number},
    {"float", JfrForm::four_bytes},
    {"double", JfrForm::eight_bytes},
    {"java.lang.String", JfrForm::text},
}};

int64_t jfr_integer(std::string_view text) {
  int64_t number = 0;
  const auto end = text.data() + text.size();
  return std::from_chars(text.data(), end, number).ptr == end && !text.empty() ? number : -1;
}

}  // namespace

const JfrRow::Cell* JfrRow::find(std::string_view field) const {
  for (size_t i = 0; i < cells.size(); ++i)
    if (type->fields[i].name == field) return &cells[i];
  return nullptr;
}

int64_t JfrRow::number(std::string_view field) const {
  const Cell* cell = find(field);
  return cell == nullptr ? 0 : cell->number;
}

// A tree of elements with attributes, as XML has them. <class id name> has <field name class
// constantPool dimension>; the rest is for people.
struct JfrTypes::Element {
  std::string_view name;
  size_t children = 0;  // that are still to come
  JfrType type;         // of a <class>
  JfrField field;       // of a <field>
  int64_t id = -1;      // of a <class>
};

bool JfrTypes::read(JfrBytes event) {
  constexpr size_t deepest = 64;
  types_.clear();
  ids_.clear();
  for (int i = 0; i < 3; ++i) event.number();  // begin, duration, id
  std::vector<std::string> strings(event.count());
  int64_t constant = -1;
  for (std::string& text : strings) {
    text = event.text(constant);
    event.skip_text();
  }
  const auto string = [&]() -> std::string_view {
    const auto index = static_cast<uint64_t>(event.number());
    if (index < strings.size()) return strings[index];
    event.fail();
    return {};
  };
  std::vector<Element> open;
  do {
    Element element;
    element.name = string();
    for (size_t left = event.count(); left != 0; --left) {
      const std::string_view key = string(), value = string();
      if (key == "id") element.id = jfr_integer(value);
      if (key == "name") element.type.name = element.field.name = value;
      if (key == "class") element.field.type = jfr_integer(value);
      if (key == "constantPool") element.field.pooled = value == "true";
      if (key == "dimension") element.field.array = value == "1";
    }
    element.children = event.count();
    open.push_back(std::move(element));
    if (!event.good() || open.size() > deepest) return false;
    while (!open.empty() && open.back().children == 0) {
      Element last = std::move(open.back());
      open.pop_back();
      end_element(last, open);
      if (!open.empty()) --open.back().children;
    }
  } while (!open.empty());
  return !types_.empty();
}

void JfrTypes::end_element(Element& element, std::vector<Element>& open) {
  if (element.name == "field" && !open.empty() && open.back().name == "class") {
    open.back().type.fields.push_back(std::move(element.field));
  } else if (element.name == "class") {
    for (const auto& [name, form] : jfr_plain_types)
      if (name == element.type.name) element.type.form = form;
    ids_.try_emplace(element.type.name, element.id);
    types_.insert_or_assign(element.id, std::move(element.type));
  }
}

const JfrType* JfrTypes::find(int64_t id) const {
  const auto found = types_.find(id);
  return found == types_.end() ? nullptr : &found->second;
}

int64_t JfrTypes::id_of(std::string_view name) const {
  const auto found = ids_.find(std::string(name));
  return found == ids_.end() ? -1 : found->second;
}

void JfrTypes::skip_field(const JfrField& field, JfrBytes& bytes, int depth) const {
  for (size_t left = field.array ? bytes.count() : 1; left != 0 && bytes.good(); --left) {
    if (field.pooled)
      bytes.number();
    else
      skip_value(field.type, bytes, depth);
  }
}

// A value takes a byte or more, and the depth is limited, so the work is bounded by the bytes.
void JfrTypes::skip_value(int64_t id, JfrBytes& bytes, int depth) const {
  constexpr int deepest = 16;
  const JfrType* type = find(id);
  if (type == nullptr || depth > deepest) return bytes.fail();
  switch (type->form) {
    case JfrForm::number:
      bytes.number();
      break;
    case JfrForm::byte:
      bytes.bytes(1);
      break;
    case JfrForm::four_bytes:
      bytes.bytes(4);
      break;
    case JfrForm::eight_bytes:
      bytes.bytes(8);
      break;
    case JfrForm::text:
      bytes.skip_text();
      break;
    case JfrForm::fields:
      if (type->fields.empty()) return bytes.fail();
      for (const JfrField& field : type->fields) skip_field(field, bytes, depth + 1);
      break;
  }
}

void JfrTypes::read_row(const JfrType& type, JfrBytes& bytes, JfrRow& row) const {
  row.type = &type;
  row.cells.resize(type.fields.size());
  for (size_t i = 0; i < type.fields.size(); ++i) {
    const JfrField& field = type.fields[i];
    JfrRow::Cell& cell = row.cells[i];
    cell = {.number = 0, .at = bytes};
    const JfrType* of_field = find(field.type);
    const JfrForm form = of_field == nullptr ? JfrForm::fields : of_field->form;
    JfrBytes number = bytes;
    if (!field.array && (field.pooled || form == JfrForm::number)) cell.number = number.number();
    if (!field.array && !field.pooled && form == JfrForm::byte)
      cell.number = static_cast<int64_t>(number.fixed(1));
    skip_field(field, bytes, 0);
  }
}

}  // namespace memflame
