// SPDX-License-Identifier: BSD-2-Clause
#include "render/query/query_output.h"

#include "render/choose_output.h"

namespace memflame {
namespace {

constexpr QueryOutput query_output_table[] = {
#define OUTPUT(name, suffix, help) {#name, suffix, help, write_query_##name},
#include "render/query/query_outputs.def"
#undef OUTPUT
};

}  // namespace

std::span<const QueryOutput> query_outputs() { return query_output_table; }

const QueryOutput& query_output_for(std::string_view format, std::string_view path) {
  return chosen_output<QueryOutput>(query_output_table, format, path, query_output_table[0]);
}

}  // namespace memflame
