// SPDX-License-Identifier: BSD-2-Clause
// What the kernel takes long to make of a BPF object: larger programs, which its verifier looks at
// for a tenth of a second each, and tables with room for millions of entries. They are made in
// threads while libbpf makes the rest, or when they are needed first.
//
// libbpf calls back before it loads a program. For one that is set aside, its instructions are kept
// then, and libbpf loads an empty program under its descriptor, which the true one takes over. A
// table is made in the same way: libbpf gets one with a single entry, whose descriptor the true
// table takes over before the first program is loaded.
#pragma once

#include <bpf/bpf.h>

#include <future>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/unique_fd.h"

struct bpf_map;
struct bpf_object;
struct bpf_program;

namespace memflame {

// The kernel refused to load a program, for this errno; `log` is what it or libbpf said.
[[noreturn]] void throw_rejected(int error, std::string_view log);
// The line of such a log that says why.
std::string reason_in(std::string_view text);

enum class When { beside, after, on_demand };

class Deferred {
 public:
  // Before an object is opened: libbpf is told whom to call.
  static void listen();

  // Before the object is loaded, with the size that the map will have. Leaves it to libbpf if the
  // kernel refuses such a map.
  void make(bpf_map* map);
  // Before the object is loaded.
  void set_aside(const bpf_program* program, When when) { aside_[program].when = when; }
  // Loads it. Returns what bpf_object__load() does.
  int load(bpf_object* object);

  // Waits for a program that was set aside, or loads it. Throws Error. Any thread may call it.
  void finish(const bpf_program* program);
  // Waits for all that are loaded beside. Throws Error.
  void finish();

  // Begins to load those that were set aside for the time after (When::after).
  void begin_rest();

  // Before the object is closed: waits until no thread needs it.
  void abandon();

  // libbpf's call. Returns a negative errno for a failure.
  int prepare(bpf_program* program, bpf_prog_load_opts& options);

 private:
  struct Loaded {
    UniqueFd fd;
    int error = 0;
    std::string log;  // the verifier's, if it rejects the program
  };
  // A program as libbpf would have loaded it.
  struct Kept {
    When when = When::beside;
    bpf_prog_type type{};
    std::string name;
    std::vector<bpf_insn> instructions;
    std::vector<char> functions, lines;  // debug information
    bpf_prog_load_opts options{};
    std::future<Loaded> loading;
  };
  struct Making {
    bpf_map* map;
    std::future<std::pair<UniqueFd, int>> made;  // an errno if there is none
  };

  int put_maps();
  static Loaded load_kept(const Kept& kept);
  static void keep(Kept& kept, const bpf_program* program, const bpf_prog_load_opts& options);

  std::map<const bpf_program*, Kept> aside_;
  std::vector<Making> making_;
  bpf_object* object_ = nullptr;
  std::mutex mutex_;  // of aside_, once the object is loaded
};

}  // namespace memflame
