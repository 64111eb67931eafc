// SPDX-License-Identifier: BSD-2-Clause
// Where in its source a function of V8 calls, and the functions that V8's compiler has put into its
// code (inlined), by reading the process: programs tell of a call when a stack with it is new.
//
// The process goes on meanwhile. Its collector may move or free code, so whatever is read must be
// of the type that it should be, and the code must be that of the function that the program has
// seen in the frame, before and after. Otherwise nothing is said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "probes/languages/script.h"

namespace memflame {

// Whether all of this memory could be read.
using ReadV8Memory = std::function<bool(uint64_t address, void* to, size_t bytes)>;

// One function of a frame.
struct V8CallSite {
  uint64_t key = 0;                  // v8_key()
  uint64_t info = 0;                 // its SharedFunctionInfo
  std::optional<uint32_t> position;  // in its script, of the call
};

enum class V8Code : uint8_t {
  bytecode,  // of the interpreter or the baseline compiler
  optimized,
  unknown,  // the code is gone, or says nothing of this place
};

struct V8Calls {
  V8Code code = V8Code::unknown;
  std::vector<V8CallSite> sites;  // innermost first; the last one is the function of the frame
};

// `is_file`: the return address is in the program's own code, so in no code that V8 has made.
V8Calls read_v8_calls(const bpf::v8_call& call, uint32_t thread, bool is_file,
                      const ReadV8Memory& read);

}  // namespace memflame
