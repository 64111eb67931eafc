// SPDX-License-Identifier: BSD-2-Clause
// A chunk's description of its types, and values of these types. Every JDK has fields of its own,
// so nothing is known before this was read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collapse/inputs/java/jfr_bytes.h"
#include "core/hash.h"

namespace memflame {

struct JfrField {
  std::string name;
  int64_t type = 0;
  bool pooled = false;  // the value is the key of one in the type's pool
  bool array = false;
};

struct JfrType {
  enum class Form : uint8_t { fields, number, byte, four_bytes, eight_bytes, text };
  std::string name;
  Form form = Form::fields;
  std::vector<JfrField> fields;
};

// The fields of one value. An array, or a value with fields, has only its place here.
struct JfrRow {
  struct Cell {
    int64_t number = 0;  // also the key of a pooled value
    JfrBytes at;         // begins with the field
  };
  const JfrType* type = nullptr;
  std::vector<Cell> cells;

  const Cell* find(std::string_view field) const;
  const JfrField& field(const Cell& cell) const {
    return type->fields[static_cast<size_t>(&cell - cells.data())];
  }
  int64_t number(std::string_view field) const;  // 0 if there is no such field
};

class JfrTypes {
 public:
  // Reads a metadata event, behind its size and type. Returns false if it is damaged.
  bool read(JfrBytes event);

  const JfrType* find(int64_t id) const;
  int64_t id_of(std::string_view name) const;  // -1 if there is none

  // Passes over a value of a type.
  void skip(int64_t type, JfrBytes& bytes) const { skip_value(type, bytes, 0); }
  // Reads a value that has fields.
  void read_row(const JfrType& type, JfrBytes& bytes, JfrRow& row) const;

 private:
  struct Element;
  void end_element(Element& element, std::vector<Element>& open);
  void skip_field(const JfrField& field, JfrBytes& bytes, int depth) const;
  void skip_value(int64_t type, JfrBytes& bytes, int depth) const;

  std::unordered_map<int64_t, JfrType, NumberHash> types_;
  std::unordered_map<std::string, int64_t> ids_;
};

}  // namespace memflame
