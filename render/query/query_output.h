// SPDX-License-Identifier: BSD-2-Clause
// The formats that the result of a query can be written in. A new one is a file in this folder and
// a line in query_outputs.def.
#pragma once

#include <functional>
#include <ostream>
#include <span>
#include <string_view>

#include "core/profile.h"
#include "core/query_rows.h"

namespace memflame {

struct QueryLooks {
  // Pushes the frames of the stack with that number; the result is none if there is no such stack.
  std::function<StackId(Profile& into, int64_t stack)> push_stack;
};

#define OUTPUT(name, suffix, help) \
  void write_query_##name(std::ostream& out, QueryResult& result, const QueryLooks& looks);
#include "render/query/query_outputs.def"
#undef OUTPUT

struct QueryOutput {
  std::string_view name;    // for --format
  std::string_view suffix;  // of a file that is written in it
  std::string_view help;
  // Takes all rows of the result. Throws Error.
  void (*write)(std::ostream& out, QueryResult& result, const QueryLooks& looks);
};

std::span<const QueryOutput> query_outputs();

// `format` decides if it is not empty, else the suffix of `path`, else it is a table. Throws Error
// (usage) that lists the formats.
const QueryOutput& query_output_for(std::string_view format, std::string_view path);

}  // namespace memflame
