// SPDX-License-Identifier: BSD-2-Clause
// Recording: what a probe run saw, in addresses. fold() (collapse/fold/fold.h) turns it into a
// Profile, in names. Once symbolize() has run over it, a recording needs nothing of the traced
// machine.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/languages.h"
#include "core/paged.h"
#include "core/profile.h"

namespace memflame {

// A code address. A return address points behind its call instruction, which may be the next source
// line or even the next function; such addresses are looked up at addr - 1.
struct Pc {
  uint64_t addr = 0;
  bool is_return = false;
  friend bool operator==(const Pc&, const Pc&) = default;
};

// A function of an interpreted language, as its interpreter keeps it. In a stack, it is told by its
// index in Recording::scripts and by a place in its code.
struct ScriptCode {
  Language language = Language::none;  // none: a function that could not be read
  std::string function, file;          // as the interpreter has them
  uint32_t first_line = 0;
  std::string lines;  // the interpreter's table of lines; empty if it could not be read
  friend bool operator==(const ScriptCode&, const ScriptCode&) = default;
};
inline constexpr uint64_t script_mark = uint64_t{1}
                                        << 62;  // no address has only this of the top two
inline constexpr uint32_t script_no_place = 0xffff;

inline Pc script_pc(uint32_t index, uint32_t place) {
  return {.addr = script_mark | uint64_t{index} << 16 | (place & script_no_place)};
}
inline bool is_script(const Pc& pc) { return pc.addr >> 62 == 1; }
inline uint32_t script_index(const Pc& pc) { return static_cast<uint32_t>(pc.addr >> 16); }
inline uint32_t script_place(const Pc& pc) { return pc.addr & script_no_place; }

// Why a walk up the stack ended, in the order of enum stop (probes/bpf/shared.h).
enum class StopReason : uint8_t {
  complete,  // reached the first frame of the thread
#define MEMFLAME_STOP(name, label, remedy) name,
#include "core/stops.def"
#undef MEMFLAME_STOP
};

struct RawStack {
  SpaceId space;
  uint64_t time_ns = 0;  // CLOCK_MONOTONIC, when the stack was first seen
  std::vector<Pc> pcs;   // leaf first; the first `kernel_pcs` are kernel addresses
  uint32_t kernel_pcs = 0;
  StopReason stop = StopReason::complete;
  std::string note;  // replaces pcs if there is no stack: "[lost: ring buffer full]"
  std::string leaf;  // a last frame that is not code: what was allocated, "[slab dentry]"; or ""
};

enum class ModuleKind : uint8_t { file, vdso, anonymous };

// Closes the descriptor of an open module when its last user is gone.
class SharedFd {
 public:
  SharedFd() = default;
  explicit SharedFd(int fd);
  int get() const { return fd_ ? *fd_ : -1; }

 private:
  std::shared_ptr<const int> fd_;
};

// A file that code is mapped from. It is opened while the process lives, so that a file replaced or
// deleted on disk, or one of another mount namespace, still gives its names.
struct Module {
  std::string path;  // as the target names it
  ModuleKind kind = ModuleKind::file;
  uint64_t device = 0, inode = 0;
  std::string build_id;  // lower-case hex, empty when unknown
  SharedFd file;         // empty if it could not be opened
  std::string root;      // "/proc/PID/root" while that was reachable; prefix for debug files
  // For files that are opened later by their name, without a build id to compare: the file must not
  // have changed after this time (CLOCK_REALTIME). If not even the inode is known (0), the file
  // that has the name now is used, and symbolize() says so.
  int64_t unchanged_since_ns = INT64_MAX;
  bool any_inode = false;
};

// A part of an address space, while it was mapped: [start, end) from file offset `offset`.
struct Mapping {
  uint64_t start = 0, end = 0, offset = 0;
  ModuleId module;
  uint64_t from_ns = 0, until_ns = UINT64_MAX;  // CLOCK_MONOTONIC
  friend bool operator==(const Mapping&, const Mapping&) = default;
};

// One incarnation of an address space: from fork or exec (or the start of the run) to exec or exit.
// A reused pid, and one pid before and after exec, are different spaces.
struct Space {
  uint32_t pid = 0;  // 0: it stands for processes of one name that have ended
  std::string comm;
  std::string cgroup;   // set if several are watched: "container 0123456789ab", a path; else ""
  SpaceId forked_from;  // inherits that space's mappings as of from_ns
  uint64_t from_ns = 0;
  std::vector<Mapping> mappings;  // executable ones, in order of from_ns
  std::string perf_map;           // contents of the process's perf-PID.map, if there was one
};

struct Aggregate {
  RawStackId stack;
  std::string group;            // a frame between the process and the stack ("[anon]"), or ""
  std::vector<int64_t> values;  // one per Recording::types
  int64_t events = 0;           // number of events that brought the values
  // What goes on above the stack's leaf: a frame ("[first touched by]"), and another stack; or
  // none.
  std::string joint{};
  RawStackId above{};
};

// A free that looks wrong, and its stacks (alloc --check).
struct Candidate {
  std::string kind;    // "double free", "free of an address never allocated", "mismatched free"
  std::string detail;  // "new[] against free"; empty if the kind says it all
  uint64_t events = 0;
  int64_t bytes = 0;  // of the blocks, where they were known
  RawStackId freeing;
  RawStackId allocating, first_freeing;  // none where unknown
};

struct Symbol {
  std::string function;  // demangled
  std::string file;      // source file, empty when unknown
  uint32_t line = 0;
  uint32_t start_line = 0;  // where the function begins in that file; 0 if unknown
  FrameKind kind = FrameKind::user;
  std::string module;  // path of the module, or "kernel"
};

// The functions of one address. Many addresses have the same ones, and can share them: a copy does
// not copy the symbols.
class SymbolList {
 public:
  SymbolList() = default;
  SymbolList(std::vector<Symbol> symbols)  // NOLINT(google-explicit-constructor): like a vector
      : list_(std::make_shared<const std::vector<Symbol>>(std::move(symbols))) {}
  SymbolList(std::initializer_list<Symbol> symbols) : SymbolList(std::vector<Symbol>(symbols)) {}

  std::span<const Symbol> all() const {
    return list_ ? std::span(*list_) : std::span<const Symbol>();
  }
  auto begin() const { return all().begin(); }
  auto end() const { return all().end(); }
  size_t size() const { return all().size(); }
  bool empty() const { return all().empty(); }
  const Symbol& front() const { return list_->front(); }
  const Symbol& back() const { return list_->back(); }
  const Symbol& operator[](size_t i) const { return (*list_)[i]; }

 private:
  std::shared_ptr<const std::vector<Symbol>> list_;
};

// The meaning of one address: the function whose code it is and those inlined into it there,
// outermost first. Never empty after symbolize(). All addresses of one place in one file share one
// location, whichever process they were seen in.
struct Location {
  SpaceId space;  // where it was seen first; none for kernel addresses
  Pc pc;          // the address there
  SymbolList symbols;
  bool is_code = true;  // false: in no executable mapping at that time
};

struct Recording {
  Meta meta;
  std::vector<ValueType> types;
  size_t shown = 0;
  std::vector<Module> modules{Module{}};  // [0] is none, as for every id
  Paged<Space> spaces{Space{}};
  std::vector<ScriptCode> scripts{ScriptCode{}};
  std::vector<RawStack> stacks{RawStack{}};
  std::vector<Aggregate> sums;
  std::vector<Candidate> candidates;
  // Functions (as in the symbol table) that were probed in several files: the name alone does not
  // tell which allocator they belong to.
  std::vector<std::string> shared_names;
  // Filled by symbolize(): for stack s, frames[s.index][i] is the location of pcs[i].
  std::vector<Location> locations{Location{}};
  std::vector<std::vector<LocationId>> frames;
  // The place of each location that is in a file, by LocationId::index; only if symbolize() was
  // asked for it.
  CodePlaces code;
  std::vector<CodeId> code_of;
  Losses losses;
};

}  // namespace memflame
