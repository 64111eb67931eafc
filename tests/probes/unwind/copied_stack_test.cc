// SPDX-License-Identifier: BSD-2-Clause
// Steps from a frame to its caller: with hand-made rows and stacks, and on the test's own stack.
#include "probes/unwind/copied_stack.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "core/elf/vdso.h"
#include "core/unique_fd.h"
#include "probes/system/procfs.h"
#include "probes/unwind/cache.h"

using namespace memflame;
using namespace memflame::unwind;

namespace {

constexpr uint64_t bottom = 0x7ffc00001000;  // address of the first word of a made-up stack

constexpr uint64_t word_at(uint64_t index) { return bottom + index * 8; }

// A stack of words from rsp on, and rows by address.
struct Made {
  std::vector<uint64_t> words;
  std::map<uint64_t, row> rows;  // by the address looked up
  CopiedStack stack;

  WalkedStack walk(uint32_t max_depth = 100) {
    stack.sp = stack.sp != 0 ? stack.sp : bottom;
    stack.memory = std::as_bytes(std::span(words));
    return unwind::walk(stack, max_depth, [this](uint64_t address) -> FoundRow {
      const auto found = rows.find(address);
      if (found == rows.end()) return {bpf::stop_no_mapping, {}};
      return {bpf::stop_end, found->second};
    });
  }
};

row make(row_kind kind, int cfa = 0, uint8_t rbp = 0, int rbx = 0) {
  return {0, static_cast<row_u16>(cfa), static_cast<row_u8>(kind | rbx << 4), rbp};
}

// Four frames, the last of which has no caller.
Made four_frames() {
  Made made;
  made.words = {1, 2, 0x2000, 3, 0x3000, 4, 0x4000};
  made.stack.ip = 0x1000;
  made.rows = {{0x1000, make(row_rsp, 3)},
               {0x1fff, make(row_rsp, 2)},
               {0x2fff, make(row_rsp, 2)},
               {0x3fff, make(row_end)}};
  return made;
}

std::vector<uint64_t> addresses(const WalkedStack& walked) {
  std::vector<uint64_t> list;
  for (const Pc& pc : walked.pcs) list.push_back(pc.addr);
  return list;
}

using Addresses = std::vector<uint64_t>;

}  // namespace

TEST_CASE("CFA from rsp: the leaf is looked up at its address, callers one byte before") {
  Made made;
  made.words = {1, 2, 0x2000, 3, 0x3000};
  made.stack.ip = 0x1000;
  made.rows = {{0x1000, make(row_rsp, 3)}, {0x1fff, make(row_rsp, 2)}, {0x2fff, make(row_end)}};
  const WalkedStack walked = made.walk();
  CHECK(addresses(walked) == Addresses{0x1000, 0x2000, 0x3000});
  CHECK(walked.stop == StopReason::complete);
  CHECK_FALSE(walked.pcs[0].is_return);
  CHECK(walked.pcs[1].is_return);
}

TEST_CASE("functions of an interpreter are put before the loop that holds their record") {
  const uint64_t f = bpf::script_word(bpf::language_python, 0x5000, 1);
  const uint64_t g = bpf::script_word(bpf::language_python, 0x6000, 2);
  Made made = four_frames();
  made.stack.scripts = {word_at(3), g, f, word_at(5), f};
  made.stack.scripts_end = bpf::script_whole;
  WalkedStack walked = made.walk();
  CHECK(addresses(walked) == Addresses{0x1000, g, f, 0x2000, f, 0x3000, 0x4000});
  CHECK_FALSE(walked.scripts_unread);
  SUBCASE("what has no frame is marked") {
    made.stack.scripts = {word_at(3), g, word_at(90), f};
    walked = made.walk();
    CHECK(addresses(walked) ==
          Addresses{0x1000, g, 0x2000, 0x3000, 0x4000,
                    bpf::script_word(bpf::language_python, 0, bpf::script_whole)});
    CHECK(walked.scripts_unread);
  }
  SUBCASE("what could not be read is marked") {
    made.stack.scripts = {0, g};
    made.stack.scripts_end = bpf::script_unreadable;
    walked = made.walk();
    CHECK(addresses(walked) ==
          Addresses{0x1000, 0x2000, 0x3000, 0x4000,
                    bpf::script_word(bpf::language_python, 0, bpf::script_unreadable)});
    CHECK(walked.scripts_unread);
  }
}

TEST_CASE(
    "a stack with code that V8 or Java has made is marked: their functions are not in a copy") {
  for (const bpf::language language : {bpf::language_javascript, bpf::language_java}) {
    Made made;
    made.words = {0, word_at(4), 0x2000, 0, 0, 0x3000};
    made.stack.ip = 0x1000;
    made.stack.bp = bottom + 8;
    made.stack.language = language;
    made.rows = {{0x1000, make(row_fp)}, {0x1fff, make(row_fp)}, {0x2fff, make(row_end)}};
    WalkedStack walked = made.walk();
    CHECK(addresses(walked) ==
          Addresses{0x1000, 0x2000, 0x3000, bpf::script_word(language, 0, bpf::script_unreadable)});
    CHECK(walked.scripts_unread);
    Made native = four_frames();
    native.stack.language = language;
    walked = native.walk();
    CHECK(addresses(walked) == Addresses{0x1000, 0x2000, 0x3000, 0x4000});
    CHECK_FALSE(walked.scripts_unread);
  }
}

TEST_CASE("a function entry: the return address is on top, whatever the table says") {
  Made made;
  made.words = {0x2000};
  made.stack.ip = 0x1000;
  made.stack.at_entry = true;
  made.rows = {{0x1000, make(row_bad)}, {0x1fff, make(row_end)}};
  CHECK(addresses(made.walk()) == Addresses{0x1000, 0x2000});
}

TEST_CASE("CFA from rbp, which is restored from where it was saved") {
  Made made;
  //            0  1  rbp saved            ra      4  rbp saved  ra
  made.words = {0, 0, word_at(5), 0x2000, 0, 0xbeef, 0x3000, 0x4000};
  made.stack.ip = 0x1000;
  made.stack.bp = word_at(2);
  made.rows = {{0x1000, make(row_rbp, 2, 2)},
               {0x1fff, make(row_rbp, 2, 2)},
               {0x2fff, make(row_rsp, 1)},
               {0x3fff, make(row_end)}};
  CHECK(addresses(made.walk()) == Addresses{0x1000, 0x2000, 0x3000, 0x4000});
}

TEST_CASE("rbp saved further down than right below the return address") {
  Made made;
  made.words = {word_at(4), 0, 0, 0x2000, 0, 0x3000};
  made.stack.ip = 0x1000;
  made.rows = {{0x1000, make(row_rsp, 4, 4)}, {0x1fff, make(row_rbp, 2)}, {0x2fff, make(row_end)}};
  CHECK(addresses(made.walk()) == Addresses{0x1000, 0x2000, 0x3000});
}

TEST_CASE("entries of a linkage table: one word more from the push on") {
  for (const uint64_t at : {0x100aULL, 0x100bULL}) {
    Made made;
    made.words = {0x2000, 0x3000};
    made.stack.ip = at;
    made.rows = {{at, make(row_plt, 11)}, {0x1fff, make(row_end)}, {0x2fff, make(row_end)}};
    CHECK(addresses(made.walk()) == Addresses{at, at == 0x100a ? 0x2000ULL : 0x3000ULL});
  }
}

TEST_CASE("CFA behind a pointer on the stack") {
  Made made;
  made.words = {0, word_at(3), 0, 0x2000};
  made.stack.ip = 0x1000;
  made.rows = {{0x1000, make(row_deref_rsp, 1)}, {0x1fff, make(row_end)}};
  CHECK(addresses(made.walk()) == Addresses{0x1000, 0x2000});
}

TEST_CASE("a realigned stack: the CFA is saved below rbp, rbp where it points") {
  Made made;
  //            0  CFA             rbp: saved rbp   3  ra
  made.words = {0, word_at(5), word_at(6), 0, 0x2000, 0, 0, 0x3000};
  made.stack.ip = 0x1000;
  made.stack.bp = word_at(2);
  made.rows = {
      {0x1000, make(row_deref_rbp, -1)}, {0x1fff, make(row_rbp, 2)}, {0x2fff, make(row_end)}};
  CHECK(addresses(made.walk()) == Addresses{0x1000, 0x2000, 0x3000});
}

TEST_CASE("a signal frame restores all registers, and what it interrupted is exact") {
  Made made;
  made.words.assign(40, 0);
  const size_t registers = (40 + 8 * 10) / 8;
  made.words[0] = 0x2000;                       // the handler's return address: the restorer
  made.words[1 + registers] = word_at(30);      // rbp
  made.words[1 + registers + 1] = 77;           // rbx
  made.words[1 + registers + 5] = word_at(36);  // rsp
  made.words[1 + registers + 6] = 0x5000;       // rip
  made.words[31] = 0x6000;
  made.stack.ip = 0x1000;
  made.rows = {{0x1000, make(row_rsp, 1)},
               {0x1fff, make(row_signal)},
               {0x5000, make(row_rbp, 2)},
               {0x5fff, make(row_end)}};
  made.words[36] = 0;
  made.stack.sp = bottom;
  // rbp + 16 has to lie above rsp, as the interrupted function's frame does.
  made.words[1 + registers] = word_at(36);
  made.words[37] = 0x6000;
  const WalkedStack walked = made.walk();
  CHECK(addresses(walked) == Addresses{0x1000, 0x2000, 0x5000, 0x6000});
  CHECK_FALSE(walked.pcs[2].is_return);
  CHECK(walked.pcs[3].is_return);
}

TEST_CASE("rbx: read only where it is needed, from where it was saved last") {
  Made made;
  //            rbx saved       ra      2  3  ra of the second
  made.words = {word_at(3), 0x2000, 0, 0, 0x3000};
  made.stack.ip = 0x1000;
  made.stack.bx = 0xbad;
  made.rows = {
      {0x1000, make(row_rsp, 2, 0, 2)}, {0x1fff, make(row_rbx, 2)}, {0x2fff, make(row_end)}};
  CHECK(addresses(made.walk()) == Addresses{0x1000, 0x2000, 0x3000});

  made.rows[0x1000] = make(row_rsp, 2, 0, row_rbx_lost);
  CHECK(made.walk().stop == StopReason::bad_row);

  made.rows[0x1000] = make(row_rsp, 2);  // unchanged: the register itself
  made.stack.bx = word_at(3);
  CHECK(made.walk().stop == StopReason::complete);
}

TEST_CASE("code without information: frame pointers, under conditions") {
  Made made;
  made.words = {0, word_at(4), 0x2000, 0, 0, 0x3000};
  made.stack.ip = 0x1000;
  made.stack.bp = bottom + 8;
  made.rows = {{0x1000, make(row_fp)}, {0x1fff, make(row_fp)}, {0x2fff, make(row_end)}};
  CHECK(addresses(made.walk()) == Addresses{0x1000, 0x2000, 0x3000});

  SUBCASE("rbp = 0 is the end") {
    made.words[1] = 0;
    const WalkedStack walked = made.walk();
    CHECK(addresses(walked) == Addresses{0x1000, 0x2000});
    CHECK(walked.stop == StopReason::complete);
  }
  SUBCASE("not aligned") {
    made.stack.bp = bottom + 9;
    CHECK(made.walk().stop == StopReason::no_frame_pointer);
  }
  SUBCASE("below rsp") {
    made.stack.bp = bottom - 8;
    CHECK(made.walk().stop == StopReason::no_frame_pointer);
  }
  SUBCASE("too far away") {
    made.stack.bp = bottom + (2 << 20);
    CHECK(made.walk().stop == StopReason::no_frame_pointer);
  }
  SUBCASE("a caller in no code was none: it is not shown") {
    made.rows.erase(0x1fff);
    const WalkedStack walked = made.walk();
    CHECK(addresses(walked) == Addresses{0x1000});
    CHECK(walked.stop == StopReason::no_frame_pointer);
  }
}

TEST_CASE("why a walk ends") {
  Made made;
  made.words = {0x2000, 0x2000, 0x2000, 0x2000};
  made.stack.ip = 0x1000;
  made.rows = {{0x1000, make(row_rsp, 1)}, {0x1fff, make(row_rsp, 1)}};
  SUBCASE("end of the copy") { CHECK(made.walk().stop == StopReason::copy_ended); }
  SUBCASE("too deep") {
    const WalkedStack walked = made.walk(3);
    CHECK(walked.stop == StopReason::too_deep);
    CHECK(walked.pcs.size() == 3);
  }
  SUBCASE("a page that was not in memory") {
    made.stack.missing = 1;
    CHECK(made.walk().stop == StopReason::unreadable);
  }
  SUBCASE("unknown code is shown, and said which") {
    made.rows.erase(0x1fff);
    const WalkedStack walked = made.walk();
    CHECK(walked.stop == StopReason::no_mapping);
    CHECK(walked.unknown == 0x1fff);
    CHECK(addresses(walked) == Addresses{0x1000, 0x2000});
  }
  SUBCASE("a frame that is not above") {
    made.stack.bp = bottom - 64;
    made.rows[0x1000] = make(row_rbp, 2);
    CHECK(made.walk().stop == StopReason::backwards);
  }
  SUBCASE("a return address behind padding was put there by hand: it begins the stack") {
    made.rows[0x1fff] = make(row_padding);
    const WalkedStack walked = made.walk();
    CHECK(walked.stop == StopReason::complete);
    CHECK(addresses(walked) == Addresses{0x1000, 0x2000});
    CHECK_FALSE(walked.pcs[1].is_return);
    made.rows[0x1000] = make(row_padding);
    CHECK(made.walk().stop == StopReason::bad_row);
  }
  SUBCASE("information of another kind") {
    made.rows[0x1fff] = make(row_bad);
    CHECK(made.walk().stop == StopReason::bad_row);
  }
}

TEST_CASE("a pending return probe: the true return address, the last one for a slot") {
  Made made;
  made.words = {0x9999, 0x3000};
  made.stack.ip = 0x1000;
  made.stack.pending = {{bottom, 0x9999}, {bottom, 0x2000}};
  made.rows = {{0x1000, make(row_rsp, 1)}, {0x1fff, make(row_rsp, 1)}, {0x2fff, make(row_end)}};
  CHECK(addresses(made.walk()) == Addresses{0x1000, 0x2000, 0x3000});
}

namespace {

_Unwind_Reason_Code note_frame(_Unwind_Context* context, void* into) {
  static_cast<std::vector<uint64_t>*>(into)->push_back(_Unwind_GetIP(context));
  return _URC_NO_REASON;
}

// All executable mappings of this process, with their tables.
struct OwnCode {
  struct Part {
    MapsLine line;
    Table table;
  };
  std::vector<Part> parts;

  OwnCode() {
    const std::vector<MapsLine> lines = read_maps(::getpid()).value_or(std::vector<MapsLine>{});
    for (const MapsLine& line : lines) {
      if (!line.executable) continue;
      Part& part = parts.emplace_back(Part{line, {}});
      if (line.path == "[vdso]") part.table = make_table(vdso_image());
      if (line.path.empty() || line.path[0] != '/') continue;
      const UniqueFd file(::open(line.path.c_str(), O_RDONLY | O_CLOEXEC));
      part.table = table_of_file(file.get(), nullptr).table;
    }
  }

  FoundRow find(uint64_t address) const {
    for (const Part& part : parts) {
      if (address < part.line.start || address >= part.line.end) continue;
      uint64_t base = 0;
      if (!base_address(part.table, part.line.start, part.line.offset, base)) break;
      const auto after =
          std::upper_bound(part.table.rows.begin(), part.table.rows.end(), address - base,
                           [](uint64_t pc, const row& r) { return pc < r.pc; });
      if (after == part.table.rows.begin()) break;
      return {bpf::stop_end, *(after - 1)};
    }
    return {bpf::stop_no_mapping, {}};
  }
};

// The test's own stack, by another unwinder and by ours.
__attribute__((noinline)) void compare_own_stack(const OwnCode& code) {
  std::vector<uint64_t> wanted;
  _Unwind_Backtrace(note_frame, &wanted);
  CopiedStack stack;
  asm volatile("leaq 0(%%rip), %0\n movq %%rsp, %1\n movq %%rbp, %2\n movq %%rbx, %3"
               : "=&r"(stack.ip), "=&r"(stack.sp), "=&r"(stack.bp), "=&r"(stack.bx));
  pthread_attr_t attributes;
  REQUIRE(pthread_getattr_np(pthread_self(), &attributes) == 0);
  void* low = nullptr;
  size_t size = 0;
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  // Read through the kernel, because the sanitizer puts words of its own between variables.
  const uint64_t top = reinterpret_cast<uintptr_t>(low) + size;
  std::vector<std::byte> memory(top - stack.sp);
  const UniqueFd own(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
  const ssize_t got_bytes =
      ::pread(own.get(), memory.data(), memory.size(), static_cast<off_t>(stack.sp));
  REQUIRE(got_bytes > 0);
  memory.resize(static_cast<size_t>(got_bytes));
  stack.memory = memory;
  const WalkedStack walked =
      unwind::walk(stack, 1000, [&](uint64_t address) { return code.find(address); });
  CHECK(walked.stop == StopReason::complete);
  std::vector<uint64_t> got = addresses(walked);
  REQUIRE(got.size() > 3);
  REQUIRE(wanted.size() > 1);
  // The first frame is this function in both, at different instructions. Our walk ends with the
  // frame that is marked as the last; the other unwinder may leave that one out.
  if (wanted.back() == 0) wanted.pop_back();
  CHECK(std::vector(got.begin() + 1, got.end()) == std::vector(wanted.begin() + 1, wanted.end()));
}

__attribute__((noinline)) int descend(int depth, const OwnCode& code) {
  volatile char frame[64] = {};
  frame[depth % 64] = 1;
  if (depth == 0)
    compare_own_stack(code);
  else
    descend(depth - 1, code);
  return frame[depth % 64];
}

}  // namespace

TEST_CASE("our own stack: the same frames as the C++ run-time's unwinder finds") {
  const OwnCode code;
  compare_own_stack(code);
  descend(200, code);
}

TEST_CASE("our own stack, through libc's qsort and back") {
  static const OwnCode* code = nullptr;
  const OwnCode own;
  code = &own;
  static bool done;
  done = false;
  std::vector<int> numbers{3, 1, 2};
  std::qsort(numbers.data(), numbers.size(), sizeof(int), [](const void* a, const void* b) {
    if (!done) compare_own_stack(*code);
    done = true;
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  });
  CHECK(done);
}

TEST_CASE("our own stack, on a thread") {
  const OwnCode own;
  pthread_t thread{};
  REQUIRE(pthread_create(
              &thread, nullptr,
              [](void* code) -> void* {
                compare_own_stack(*static_cast<const OwnCode*>(code));
                return nullptr;
              },
              const_cast<OwnCode*>(&own)) == 0);
  pthread_join(thread, nullptr);
}

TEST_CASE(
    "functions of PHP are put before the loops, if there are as many of one as of the other") {
  const uint64_t f = bpf::script_word(bpf::language_php, 0x5000, 1);
  const uint64_t g = bpf::script_word(bpf::language_php, 0x6000, 2);
  Made made = four_frames();
  made.stack.language = bpf::language_php;
  made.stack.scripts = {bpf::php_any_loop, g, f, bpf::php_any_loop, f};
  made.stack.scripts_end = bpf::script_whole;
  made.stack.runs = 2;
  made.stack.loop = {.begin = 0x1f00, .bytes = 0x100, .cold_begin = 0x2f00, .cold_bytes = 0x100};
  WalkedStack walked = made.walk();
  CHECK(addresses(walked) == Addresses{0x1000, g, f, 0x2000, f, 0x3000, 0x4000});
  CHECK_FALSE(walked.scripts_unread);
  made.stack.loop.cold_bytes = 0;
  walked = made.walk();
  CHECK(addresses(walked) ==
        Addresses{0x1000, 0x2000, 0x3000, 0x4000,
                  bpf::script_word(bpf::language_php, 0, bpf::script_unreadable)});
  CHECK(walked.scripts_unread);
}
