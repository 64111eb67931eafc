// SPDX-License-Identifier: BSD-2-Clause
// memflame's names for code without a name, kept in a profile (pprof::unnamed_comment).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace memflame::pprof {

class UnnamedCode {
 public:
  static constexpr size_t longest_id = 255;  // of build ids; longer ones are not build ids
  // A comment that begins with unnamed_comment. False if it is damaged.
  bool take(std::string_view comment);
  // The start of the function at this address, in the file with that build id.
  std::optional<uint64_t> start_of(std::string_view build_id, uint64_t address) const;

 private:
  struct Functions {
    std::vector<uint64_t> starts;  // sorted
    std::unordered_map<uint64_t, uint64_t> start_of;
  };
  static bool take_addresses(std::string_view text, Functions& functions);

  std::map<std::string, Functions, std::less<>> by_build_id_;
};

}  // namespace memflame::pprof
