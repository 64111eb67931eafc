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
#include "probes/languages/v8/memory.h"

namespace memflame {

class Scripts {
 public:
  // What programs have read of a function. From now on a word with its address means this one.
  void take(const bpf::script_code_record& record, size_t size);
  // The same for what is told of a call in a function of V8; `is_file` as in v8/calls.h.
  void take_v8_call(const bpf::script_code_record& record, size_t size, bool is_file,
                    const ReadV8Memory& read);
  // Appends the places in a stack that a word stands for, innermost first: one, or several of code
  // in which functions are inlined.
  void place(SpaceId space, uint64_t word, std::vector<Pc>& to);
  void forget(SpaceId space);

  const std::vector<ScriptCode>& all() const { return all_; }
  // How often a function could not be read when a stack with it was new, and not later either.
  uint64_t unread() const { return unread_count_; }
  // How often it could not be told where a function of V8 calls, and what is inlined there.
  uint64_t calls_unread() const { return calls_unread_; }

 private:
  struct Known {
    uint32_t code = 0;          // index in all_
    uint32_t instructions = 0;  // Ruby: where places count from
  };
  // A method, or what else a word stands for at a place in compiled code.
  struct Place {
    uint64_t method = 0;
    uint32_t place = 0;
  };
  void take_java_place(const bpf::script_code_record& record, std::span<const uint8_t> lines);
  Pc place_of(SpaceId space, uint64_t code, uint32_t place, bpf::language language);
  void learn(const bpf::script_code_record& record, ScriptCode code, uint32_t instructions);
  uint32_t intern_v8(const bpf::script_code_record& record, ScriptCode code);
  uint32_t intern(ScriptCode code);

  std::vector<ScriptCode> all_{ScriptCode{}};
  std::unordered_multimap<uint64_t, uint32_t> known_;  // by hash of the content
  // By space, then by the address of the code.
  std::unordered_map<uint32_t, std::unordered_map<uint64_t, Known>> now_;
  // Functions of V8 that could not be read yet, by space and word. No other will have their
  // numbers.
  struct Unread {
    uint32_t code = 0;  // index in all_
    uint32_t thread = 0;
  };
  std::unordered_map<uint32_t, std::unordered_map<uint64_t, Unread>> unread_;
  // Methods in Java's compiled code, by space and by the word.
  std::unordered_map<uint32_t, std::unordered_map<uint64_t, std::vector<Place>>> inlined_;
  // Calls in functions of V8, by space and by the word.
  struct V8Place {
    uint64_t key = 0;
    uint32_t place = script_no_place;
  };
  V8Place read_v8_place(const bpf::script_code_record& record, const V8Memory& memory,
                        const V8CallSite& site);
  std::unordered_map<uint32_t, std::unordered_map<uint64_t, std::vector<V8Place>>> v8_calls_;
  uint64_t calls_unread_ = 0;
  uint64_t unread_count_ = 0;
  uint64_t bytes_ = 0;            // of all
  std::optional<uint32_t> full_;  // stands for all that come when there is no room
};

}  // namespace memflame
