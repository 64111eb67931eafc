// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "probes/bpf/shared.h"
#include "probes/languages/python/program.h"
#include "tests/probes/languages/python_memory.h"
#include "tests/probes/languages/script_pages.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

class PythonThread : public ScriptPages {
 public:
  static constexpr uint64_t state = 0x7000;

  explicit PythonThread(unsigned minor) : layout(python_version(minor)->layout) {}

  // A function's frame that runs the instruction with this number of its code.
  void frame(uint64_t at, uint64_t function, uint64_t place, uint64_t caller, uint8_t owner = 0) {
    word(at + layout.frame_code, function);
    word(at + layout.frame_previous, caller);
    word(at + layout.frame_instruction, function + layout.code_instructions + 2 * place);
    byte(at + layout.frame_owner, owner);
  }
  void record(uint64_t at, uint64_t innermost, uint64_t caller) {
    word(at + layout.record_frame, innermost);
    word(at + layout.record_previous, caller);
  }
  std::vector<uint64_t> read() {
    use();
    bpf::read_python(*chain, layout, state);
    return {chain->items, chain->items + chain->count};
  }

  bpf::python_layout layout;
  std::unique_ptr<bpf::script_chain> chain = std::make_unique<bpf::script_chain>();
};

uint64_t python(uint64_t code, uint64_t place) {
  return bpf::script_word(bpf::language_python, code, place);
}

constexpr uint64_t f = 0x20000, g = 0x20100, h = 0x7f1234567890 & ~uint64_t{15};
constexpr uint64_t stack = 0x7ffff000, outer = stack + 0x200, inner = stack;

}  // namespace

TEST_CASE("words of functions hold code and place, and are not addresses") {
  const uint64_t word = python(h, 77);
  CHECK(bpf::script_language(word) == bpf::language_python);
  CHECK(bpf::script_code(word) == h);
  CHECK(bpf::script_place(word) == 77);
  CHECK(bpf::script_place(python(h, 1 << 20)) == bpf::script_no_place);
  CHECK(bpf::script_language(0x7fffffffffff) == bpf::language_none);
  CHECK(bpf::script_language(exact_address | 0x7fffffffffff) == bpf::language_none);
}

TEST_CASE("Python 3.11: each loop has a record, and a function it began with") {
  PythonThread thread(11);
  thread.word(PythonThread::state + thread.layout.innermost, inner);
  thread.record(inner, 0x10200, outer);
  thread.record(outer, 0x10100, 0x30000);
  thread.record(0x30000, 0, 0);  // in the thread's state
  thread.frame(0x10200, h, 3, 0x10180);
  thread.frame(0x10180, g, 5, 0x10100);
  thread.byte(0x10180 + thread.layout.frame_is_entry, 1);
  thread.frame(0x10100, f, 0, 0);
  thread.byte(0x10100 + thread.layout.frame_is_entry, 1);
  CHECK(thread.read() ==
        std::vector<uint64_t>{inner, python(h, 3), python(g, 5), outer, python(f, 0)});
  CHECK(thread.chain->end == bpf::script_whole);
}

TEST_CASE("Python 3.13: a loop begins with a frame on the C stack") {
  PythonThread thread(13);
  thread.word(PythonThread::state + thread.layout.innermost, 0x10200);
  thread.frame(0x10200, h, 3, 0x10100);
  thread.frame(0x10100, g, 1, inner);
  thread.frame(inner, 0x900, 0, 0x10000, 3);
  thread.frame(0x10000, f, 9, outer);
  thread.frame(outer, 0x900, 0, 0, 3);
  CHECK(thread.read() ==
        std::vector<uint64_t>{inner, python(h, 3), python(g, 1), outer, python(f, 9)});
  CHECK(thread.chain->end == bpf::script_whole);
}

TEST_CASE("frames beside each other are read together") {
  PythonThread thread(13);
  constexpr unsigned frames = 30;
  thread.word(PythonThread::state + thread.layout.innermost, 0x10000 + 96 * (frames - 1));
  for (unsigned i = 0; i < frames; ++i)
    thread.frame(0x10000 + 96 * i, f, i, i == 0 ? outer : 0x10000 + 96 * (i - 1));
  thread.frame(outer, 0x900, 0, 0, 3);
  const std::vector<uint64_t> items = thread.read();
  REQUIRE(items.size() == frames + 1);
  for (unsigned i = 0; i < frames; ++i) CHECK(items[1 + i] == python(f, frames - 1 - i));
  CHECK(thread.reads < 9);
}

TEST_CASE("a thread without functions has none, and a greenlet's base ends the chain") {
  PythonThread thread(11);
  thread.word(PythonThread::state + thread.layout.innermost, inner);
  thread.record(inner, 0, 0);
  CHECK(thread.read().empty());
  CHECK(thread.chain->end == bpf::script_none);
  thread.record(inner, 0x10100, outer);
  thread.record(outer, 0, 0x30000);
  thread.frame(0x10100, f, 0, 0);
  thread.byte(0x10100 + thread.layout.frame_is_entry, 1);
  CHECK(thread.read() == std::vector<uint64_t>{inner, python(f, 0)});
  CHECK(thread.chain->end == bpf::script_whole);
}

TEST_CASE("memory that is not there, or cannot be, ends the chain with a mark") {
  PythonThread thread(12);
  CHECK(thread.read().empty());
  CHECK(thread.chain->end == bpf::script_unreadable);
  thread.word(PythonThread::state + thread.layout.innermost, inner);
  thread.record(inner, 0x10100, 0);
  thread.frame(0x10100, f, 0, 0x50000);  // in a page that is not there
  CHECK(thread.read() == std::vector<uint64_t>{0, python(f, 0)});
  CHECK(thread.chain->end == bpf::script_unreadable);
  for (const uint64_t bad : {uint64_t{0x10101}, uint64_t{1} << 47, ~uint64_t{7}}) {
    thread.record(inner, bad, 0);
    thread.read();
    CHECK(thread.chain->end == bpf::script_unreadable);
  }
  thread.record(inner, 0x10100, 0);
  thread.frame(0x10100, ~uint64_t{7}, 0, 0);
  thread.read();
  CHECK(thread.chain->end == bpf::script_unreadable);
}

TEST_CASE("a chain that goes in a circle ends") {
  PythonThread thread(13);
  thread.word(PythonThread::state + thread.layout.innermost, 0x10100);
  thread.frame(0x10100, f, 0, 0x10100);
  CHECK(thread.read().size() == bpf::max_script_items);
  CHECK(thread.chain->end == bpf::script_too_long);
  thread.frame(inner, 0x900, 0, inner, 3);
  thread.word(PythonThread::state + thread.layout.innermost, inner);
  CHECK(thread.read().size() == bpf::max_script_items);
  CHECK(thread.chain->end == bpf::script_too_long);
}

TEST_CASE("a frame at the end of the last page is read") {
  PythonThread thread(13);
  constexpr uint64_t last = 0x11000 - bpf::script_frame_bytes;
  thread.word(PythonThread::state + thread.layout.innermost, last);
  thread.frame(last, f, 4, outer);
  thread.frame(outer, 0x900, 0, 0, 3);
  CHECK(thread.read() == std::vector<uint64_t>{outer, python(f, 4)});
}
