// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <memory>
#include <string_view>
#include <vector>

#include "core/ruby_lines.h"
#include "probes/languages/ruby/lines.h"
#include "probes/languages/ruby/program.h"
#include "probes/languages/scripts/scripts.h"
#include "tests/probes/languages/ruby_memory.h"
#include "tests/probes/languages/script_pages.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr uint64_t ruby_base = 0x7f0000000000, ruby_guard = 0x1234567890abcdef;
constexpr uint64_t ruby_method = 0x11110001, ruby_c = 0x55550081, ruby_loop = 0x20;
constexpr uint64_t ruby_bottom = 0x79990021;

// A stack of 4096 words at 0x100000, whose
// flags lie below the control frames.
class RubyThread : public ScriptPages {
 public:
  static constexpr uint64_t state = 0x7000, stack = 0x100000, stack_end = stack + 8UL * 4096;

  explicit RubyThread(unsigned minor, bool guarded) : layout(*ruby_layout(minor)) {
    layout.loop_begin = 0x1000;
    layout.loop_end = 0x1100;
    layout.core_begin = 0x2000;
    layout.core_end = 0x2100;
    if (guarded) {
      layout.tag_is_guarded = 1;
      layout.tag_place = 0x48;
      layout.tag_previous = 0xd8;
    }
    word(state, stack);
    word(state + 8, 4096);
    word(state + 16, stack_end);
    word(state + 24, 0);
  }

  // A function is called: its code object points to `body`.
  void call(uint64_t body, uint64_t pc, uint64_t flags) {
    frame -= layout.frame_bytes;
    const uint64_t flags_at = next_flags, code = 0x40000 + body % 0x1000;
    next_flags += 8;
    word(flags_at, flags);
    word(code + bpf::ruby_code_body, body);
    word(frame + bpf::ruby_frame_pc, pc);
    word(frame + bpf::ruby_frame_code, body == 0 ? 0 : code);
    word(frame + bpf::ruby_frame_flags, flags_at);
    word(state + 16, frame);
  }
  // A function catches: its tag is at `at` on the C stack, and it goes on at `place` of the file.
  void tag(uint64_t at, uint64_t place) {
    uint64_t saved = ruby_base + place;
    if (layout.tag_is_guarded != 0) {
      saved ^= ruby_guard;
      saved = saved << 17U | saved >> 47U;
    }
    word(at + 0xf0, 0);
    word(at + layout.tag_place, saved);
    word(at + layout.tag_previous, innermost_tag);
    innermost_tag = at;
    word(state + 24, at);
  }
  std::vector<uint64_t> read() {
    use();
    bpf::read_ruby(*chain, layout, ruby_base, state, ruby_guard);
    return {chain->items, chain->items + chain->count};
  }

  bpf::ruby_layout layout;
  uint64_t frame = stack_end, next_flags = stack, innermost_tag = 0;
  std::unique_ptr<bpf::script_chain> chain = std::make_unique<bpf::script_chain>();
};

uint64_t ruby(uint64_t body, uint64_t pc) {
  return bpf::script_word(bpf::language_ruby, body, pc >> 3U & 0xffffU);
}

constexpr uint64_t f = 0x20010, g = 0x20120, h = 0x20230;
constexpr uint64_t outer_tag = 0x7fff2000, other_tag = 0x7fff1000, inner_tag = 0x7fff0000;

// main calls f; f calls a C function, which catches and yields to g; g calls h.
void make(RubyThread& thread) {
  thread.call(h, 0x50000, ruby_bottom);
  thread.tag(outer_tag, 0x1010);
  thread.call(f, 0x50008, ruby_method | ruby_loop);
  thread.call(0, 0, ruby_c);
  thread.tag(other_tag, 0x1100);
  thread.tag(inner_tag, 0x10ff);
  thread.call(g, 0x50010, ruby_method | ruby_loop);
  thread.call(h, 0x50018, ruby_method);
}

}  // namespace

TEST_CASE("Ruby: each loop has a tag, and a function that it began with") {
  for (const bool guarded : {false, true})
    for (const unsigned minor : {1U, 2U, 3U, 4U}) {
      RubyThread thread(minor, guarded);
      make(thread);
      CHECK(thread.read() == std::vector<uint64_t>{inner_tag, ruby(h, 0x50018), ruby(g, 0x50010),
                                                   outer_tag, ruby(f, 0x50008)});
      CHECK(thread.chain->end == bpf::script_whole);
    }
}

TEST_CASE("Ruby: nothing is placed unless there are as many loops as tags") {
  RubyThread more_functions(1, false);
  make(more_functions);
  more_functions.call(f, 0x50020, ruby_method | ruby_loop);  // its loop has not begun
  CHECK(more_functions.read().empty());
  CHECK(more_functions.chain->end == bpf::script_unreadable);
  RubyThread more_tags(1, false);
  make(more_tags);
  more_tags.tag(0x7ffe0000, 0x1010);
  CHECK(more_tags.read().empty());
  CHECK(more_tags.chain->end == bpf::script_unreadable);
  RubyThread no_loop(3, true);
  no_loop.call(f, 0x50000, ruby_bottom);
  no_loop.call(f, 0x50008, ruby_method);
  CHECK(no_loop.read().empty());
  CHECK(no_loop.chain->end == bpf::script_unreadable);
}

TEST_CASE("Ruby: a thread that runs nothing has no functions") {
  RubyThread thread(3, true);
  thread.call(f, 0x50000, ruby_bottom);
  CHECK(thread.read().empty());
  CHECK(thread.chain->end == bpf::script_whole);
  thread.word(RubyThread::state, 0);
  CHECK(thread.read().empty());
  CHECK(thread.chain->end == bpf::script_none);
}

TEST_CASE("Ruby: deep stacks are counted to their end, in few reads") {
  RubyThread thread(1, false);
  constexpr unsigned depth = 400;
  thread.word(RubyThread::state + 8, 1 << 20);
  thread.frame = RubyThread::stack + (uint64_t{8} << 20U);
  thread.call(f, 0x50000, ruby_bottom);
  thread.tag(outer_tag, 0x1010);
  for (unsigned i = 0; i < depth; ++i)
    thread.call(g, 0x50000 + 8 * i, i == 0 ? ruby_method | ruby_loop : ruby_method);
  CHECK(thread.read().size() == depth + 1);
  CHECK(thread.reads < static_cast<int>(0.1 * depth));
  for (unsigned i = 0; i < 2000; ++i) thread.call(g, 0x50000, ruby_method);
  CHECK(thread.read().size() == bpf::max_script_items);
  CHECK(thread.chain->items[0] == outer_tag);
  CHECK(thread.chain->end == bpf::script_too_long);
}

TEST_CASE("Ruby: flags are where a frame says, in its stack or in the heap") {
  RubyThread thread(1, false);
  make(thread);
  const std::vector<uint64_t> words = thread.read();
  const uint64_t flags = thread.next_flags - 8, kept = 0x300000;  // nothing else is in that page
  thread.word(kept, ruby_method);
  thread.word(thread.frame + bpf::ruby_frame_flags, kept);
  thread.word(flags, ruby_method | ruby_loop);
  CHECK(thread.read() == words);
  // At either end of a page whose neighbours are not there.
  for (const uint64_t at : {RubyThread::stack + 0x3000, RubyThread::stack + 0x3ff8}) {
    thread.word(at, ruby_method);
    thread.word(thread.frame + bpf::ruby_frame_flags, at);
    CHECK(thread.read() == words);
  }
}

TEST_CASE("Ruby: code that has moved between two stacks is read anew") {
  RubyThread thread(1, false);
  make(thread);
  const std::vector<uint64_t> words = thread.read();
  thread.word(0x40000 + h % 0x1000 + bpf::ruby_code_body, f);
  CHECK(thread.read().at(1) == ruby(f, 0x50018));
}

TEST_CASE("Ruby: an instruction is of the same code until some is freed") {
  RubyThread thread(1, false);
  make(thread);
  thread.chain->memos.life = 1ULL << 63;
  CHECK(thread.read().at(1) == ruby(h, 0x50018));
  // As if the object had moved, and another one lay there.
  thread.word(0x40000 + h % 0x1000 + bpf::ruby_code_body, f);
  CHECK(thread.read().at(1) == ruby(h, 0x50018));
  ++thread.chain->memos.life;
  CHECK(thread.read().at(1) == ruby(f, 0x50018));
}

TEST_CASE("Ruby: memory that is not there, and lists that go in a circle, end with a mark") {
  RubyThread thread(1, false);
  make(thread);
  thread.word(inner_tag + thread.layout.tag_previous, other_tag);
  thread.word(other_tag + thread.layout.tag_previous, other_tag);
  CHECK(thread.read().empty());
  CHECK(thread.chain->end == bpf::script_unreadable);
  RubyThread broken(1, false);
  make(broken);
  for (const uint64_t bad :
       {uint64_t{0x10101}, uint64_t{1} << 47U, ~uint64_t{7}, uint64_t{0x900000}}) {
    for (const uint64_t at :
         {broken.frame + bpf::ruby_frame_code, broken.frame + bpf::ruby_frame_flags,
          RubyThread::state + 16, RubyThread::state}) {
      RubyThread hostile(1, false);
      make(hostile);
      hostile.word(at, bad);
      CHECK(hostile.read().empty());
      CHECK(hostile.chain->end == bpf::script_unreadable);
    }
  }
}

TEST_CASE("Ruby: names, files and lines of a function") {
  for (const unsigned minor : {1U, 2U, 3U, 4U}) {
    RubyThread thread(minor, false);
    const uint64_t body = 0x60000, name = 0x61000, paths = 0x62000, file = 0x63000, index = 0x64000,
                   entries = 0x65000;
    const auto text = [&](uint64_t at, std::string_view chars, bool outside) {
      const bool has_length = thread.layout.text_has_length != 0;
      thread.word(at, 5 | (outside ? 1U << 13U : 0) | (has_length ? 0 : chars.size() << 14U));
      if (outside || has_length) thread.word(at + 16, chars.size());
      if (outside) thread.word(at + 24, at + 0x100);
      uint64_t to = outside ? at + 0x100 : at + (has_length ? 24 : 16);
      for (const char c : chars) thread.byte(to++, static_cast<uint8_t>(c));
    };
    thread.word(body, uint64_t{100} << 32U);  // words of code
    thread.word(body + 8, 0x70008);
    thread.word(body + bpf::ruby_body_file, paths);
    thread.word(body + bpf::ruby_body_name, name);
    thread.word(body + bpf::ruby_body_first_line, minor == 1 ? 2 * 7 + 1 : 7);
    text(name, "größe", false);
    thread.word(paths, 7 | 1U << 13U);
    thread.word(paths + bpf::ruby_array_items, file);
    text(file, "/srv/app/a-file-with-a-long-name.rb", true);
    thread.word(body + thread.layout.body_lines, entries);
    thread.word(body + thread.layout.body_lines + 16, 3);
    thread.word(body + thread.layout.body_lines + 24, index);
    // Entries from 0, 10 and 60 on.
    for (unsigned w = 0; w < 6; ++w) {
      uint64_t packed = 0;
      for (unsigned i = 0; i < 9; ++i) packed |= uint64_t{w * 9 + i >= 10 ? 2U : 1U} << (7 * i);
      thread.word(index + uint64_t{8} * w, packed);
    }
    thread.word(index + 48, 2);
    thread.word(index + 56, 0x1 | 0x1 << 9U);
    thread.word(index + 64, uint64_t{1} << 6U);
    thread.word(index + 120, 0);
    for (unsigned i = 0; i < 3; ++i)
      for (unsigned b = 0; b < 4; ++b)
        thread.byte(entries + uint64_t{12} * i + b, static_cast<uint8_t>(b == 0 ? 7 + 10 * i : 0));
    thread.read();
    auto record = std::make_unique<bpf::script_code_record>();
    record->language = bpf::language_ruby;
    record->code = body;
    REQUIRE(bpf::read_ruby_code(&thread.layout, body, record.get()) == 1);
    Scripts scripts;
    scripts.take(*record, sizeof(*record));
    const auto line = [&](uint64_t pc) {
      std::vector<Pc> places;
      scripts.place({}, ruby(body, pc), places);
      REQUIRE(places.size() == 1);
      const ScriptCode& code = scripts.all().at(script_index(places[0]));
      CHECK(code.function == "größe");
      CHECK(code.file == "/srv/app/a-file-with-a-long-name.rb");
      CHECK(code.first_line == 7);
      return ruby_line(code.lines, code.first_line, script_place(places[0]));
    };
    CHECK(line(0x70008) == 7);
    CHECK(line(0x70008 + 8 * 10) == 7);  // behind the instruction at 9
    CHECK(line(0x70008 + 8 * 11) == 17);
    CHECK(line(0x70008 + 8 * 60) == 17);
    CHECK(line(0x70008 + 8 * 61) == 27);
    CHECK(line(0x70008 + 8 * 100) == 27);
    thread.word(name, 6);  // of another type
    CHECK(bpf::read_ruby_code(&thread.layout, body, record.get()) == 0);
  }
}
