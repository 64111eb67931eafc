#include "collapse/input.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace memflame {
namespace {

constexpr std::array table{
#define INPUT(id, name, help) Input{name, help, is_##id, read_##id},
#include "collapse/inputs/inputs.def"
#undef INPUT
};

}  // namespace

std::span<const Input> inputs() { return table; }

const Input& input_for(const Source& source, std::string_view from) {
  const auto fits = [&](const Input& input) {
    return from.empty() ? input.matches(source.head()) : input.name == from;
  };
  const auto* found = std::find_if(table.begin(), table.end(), fits);
  if (found != table.end()) return *found;
  if (!from.empty())
    throw Error("there is no format '" + std::string(from) + "'; see 'memflame collapse --help'",
                ExitCode::usage);
  source.fail(
      source.head().empty()
          ? "it is empty"
          : "its format is not recognised; name it with --from (see 'memflame collapse --help')");
}

Profile read_profile(Source& source, std::string_view from, const ReadOptions& options) {
  return input_for(source, from).read(source, options);
}

}  // namespace memflame
