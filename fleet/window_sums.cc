// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/window_sums.h"

#include <protozero/exception.hpp>
#include <vector>

#include "collapse/inputs/pprof/pprof_message.h"
#include "collapse/source/source.h"
#include "core/error.h"

namespace memflame {
namespace {

constexpr size_t most_unpacked = size_t{256} << 20U;

}  // namespace

std::string unpacked_pprof(std::string_view gzip) {
  return Source::of_memory(std::string(gzip), "the profile of a window").all(most_unpacked);
}

std::map<std::string, int64_t> sums_of_pprof(std::string_view gzip) try {
  const std::string message = unpacked_pprof(gzip);
  const pprof::Tables tables = pprof::read_tables(message);
  std::vector<uint64_t> sums(tables.sample_types.size());  // unsigned: they may overflow
  pprof::Sample sample;
  for (const std::string_view bytes : tables.samples) {
    pprof::read_sample(bytes, sample);
    if (sample.values.size() != sums.size()) throw Error("a sample has too few values");
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<uint64_t>(sample.values[i]);
  }
  std::map<std::string, int64_t> by_name;
  for (size_t i = 0; i < sums.size(); ++i) {
    const auto text = static_cast<uint64_t>(tables.sample_types[i].type);
    if (text >= tables.strings.size()) throw Error("a column has no name");
    by_name[std::string(tables.strings[text])] = static_cast<int64_t>(sums[i]);
  }
  return by_name;
} catch (const protozero::exception& problem) {
  throw Error(std::string("the profile of a window is damaged: ") + problem.what());
}

}  // namespace memflame
