// SPDX-License-Identifier: BSD-2-Clause
// The functions of interpreted languages that programs have met: what they sent of each, and which
// one a word in a stack means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/recording.h"
#include "probes/bpf/shared.h"

namespace memflame {

class Scripts {
 public:
  // What programs have read of a function. From now on a word with its address means this one.
  void take(const bpf::script_code_record& record, size_t size);
  // The place in a stack that a word stands for.
  Pc place(SpaceId space, uint64_t word);
  void forget(SpaceId space);

  const std::vector<ScriptCode>& all() const { return all_; }

 private:
  uint32_t intern(ScriptCode code);

  std::vector<ScriptCode> all_{ScriptCode{}};
  std::unordered_multimap<uint64_t, uint32_t> known_;  // by hash of the content
  // By space, then by the address of the code.
  std::unordered_map<uint32_t, std::unordered_map<uint64_t, uint32_t>> now_;
  uint64_t bytes_ = 0;            // of all
  std::optional<uint32_t> full_;  // stands for all that come when there is no room
};

// A str of Python in UTF-8. `text`: what lies behind its head.
std::string python_text(std::span<const uint8_t> text, uint32_t state);
// A string of V8 in UTF-8.
std::string v8_text(std::span<const uint8_t> text, uint32_t form);

}  // namespace memflame
