// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <memory>
#include <span>
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

TEST_CASE("Python 3.14: a reference to code has bits of its own") {
  PythonThread thread(14);
  thread.word(PythonThread::state + thread.layout.innermost, 0x10200);
  thread.frame(0x10200, h, 3, 0x10100);
  thread.word(0x10200 + thread.layout.frame_code, h | 1);
  thread.frame(0x10100, g, 1, inner);
  thread.frame(inner, 0x900, 0, 0x10000, 3);
  thread.frame(0x10000, f, 9, outer);
  thread.frame(outer, 0x901, 0, 0, 3);
  CHECK(thread.read() ==
        std::vector<uint64_t>{inner, python(h, 3), python(g, 1), outer, python(f, 9)});
  CHECK(thread.chain->end == bpf::script_whole);
}

TEST_CASE("Python 3.15: the thread's own frame is below all loops") {
  PythonThread thread(15);
  constexpr uint64_t own = PythonThread::state + 0x300;
  thread.word(PythonThread::state + thread.layout.innermost, own);
  thread.frame(own, 0x901, 0, 0, 3);
  CHECK(thread.read().empty());
  CHECK(thread.chain->end == bpf::script_whole);
  thread.word(PythonThread::state + thread.layout.innermost, 0x10100);
  thread.frame(0x10100, f, 1, inner);
  thread.frame(inner, 0x901, 0, own, 3);
  CHECK(thread.read() == std::vector<uint64_t>{inner, python(f, 1)});
  CHECK(thread.chain->end == bpf::script_whole);
  // A loop that has no function yet has its place in the chain.
  thread.frame(inner, 0x901, 0, 0x10200, 3);
  thread.frame(0x10200, g, 2, outer);
  thread.frame(outer, 0x901, 0, own, 3);
  thread.word(PythonThread::state + thread.layout.innermost, inner);
  CHECK(thread.read() == std::vector<uint64_t>{inner, outer, python(g, 2)});
  CHECK(thread.chain->end == bpf::script_whole);
}

TEST_CASE("Python 3.15: where a thread's state is, is read in the function that returns it") {
  const auto read = [](std::vector<uint8_t> code) {
    return python_state_in(std::as_bytes(std::span(code)), 0x3cf120);
  };
  const std::vector<uint8_t> program{0xf3, 0x0f, 0x1e, 0xfa, 0x64, 0x48, 0x8b,
                                     0x04, 0x25, 0xd8, 0xff, 0xff, 0xff, 0xc3};
  const auto in_program = read(program);
  REQUIRE(in_program);
  CHECK(in_program->block == 0);
  CHECK(in_program->offset == -40);
  std::vector<uint8_t> library{0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x3d, 0x61, 0xa6,
                               0x4a, 0x00, 0xe8, 0x5c, 0x9d, 0xcf, 0xff, 0x5d, 0x48,
                               0x8b, 0x80, 0x28, 0x00, 0x00, 0x00, 0xc3};
  const auto in_library = read(library);
  REQUIRE(in_library);
  CHECK(in_library->block == 0x3cf12b + 0x4aa661);
  CHECK(in_library->offset == 40);
  library.resize(17);
  library.insert(library.end(), {0x48, 0x8b, 0x00, 0xc3});
  CHECK(read(library)->offset == 0);
  library.resize(library.size() - 2);
  CHECK(!read(library));
  CHECK(!read({}));
}

TEST_CASE("each known version has its owner in what is read of a frame") {
  for (const PythonVersion& version : python_versions) {
    CAPTURE(version.minor);
    CHECK(version.layout.frame_owner < bpf::script_frame_bytes);
    PythonThread thread(version.minor);
    // A generator's frame, by itself at the end of a page, and its caller's.
    constexpr uint64_t last = 0x11000 - bpf::script_frame_bytes;
    thread.word(PythonThread::state + thread.layout.innermost,
                thread.layout.has_record != 0 ? inner : last);
    thread.frame(last, g, 2, 0x20000, 1);
    thread.frame(0x20000, f, 4, version.minor == 11 ? 0 : outer);
    if (version.minor == 11) thread.byte(0x20000 + thread.layout.frame_is_entry, 1);
    if (version.minor > 11) thread.frame(outer, 0x900, 0, 0, 3);
    if (thread.layout.has_record != 0) thread.record(inner, last, PythonThread::state);
    const uint64_t loop = version.minor == 11 ? inner : outer;
    CHECK(thread.read() == std::vector<uint64_t>{loop, python(g, 2), python(f, 4)});
    CHECK(thread.chain->end == bpf::script_whole);
  }
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
