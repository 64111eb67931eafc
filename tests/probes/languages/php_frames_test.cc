// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <memory>
#include <string_view>
#include <vector>

#include "probes/languages/scripts/scripts.h"
#include "tests/probes/languages/php_memory.h"
#include "tests/probes/languages/script_pages.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

class PhpThread : public ScriptPages {
 public:
  static constexpr uint64_t globals = 0x7000;
  static constexpr uint64_t stack = 0x100000;

  explicit PhpThread(const bpf::php_offsets& version = bpf::php_8_2) {
    layout.offsets = version;
    word(globals + bpf::php_globals_frame, 0);
    word(globals + version.globals_exception, 0);
  }

  uint64_t text(std::string_view chars, bool hashed = true) {
    const uint64_t at = next;
    next += 32 + chars.size() / 8 * 8;
    word(at + bpf::php_text_hash, hashed ? std::hash<std::string_view>()(chars) | 1 : 0);
    word(at + bpf::php_text_length, chars.size());
    word(at + bpf::php_text_chars, 0);
    for (size_t i = 0; i < chars.size(); ++i)
      byte(at + bpf::php_text_chars + i, static_cast<uint8_t>(chars[i]));
    return at;
  }
  // A function of PHP; a name of 0 is the code of a file.
  uint64_t function(uint64_t name, uint64_t owner, uint64_t file, uint32_t line) {
    const uint64_t at = next;
    next += 256;
    for (uint64_t i = 0; i < 192; i += 8) word(at + i, 0);
    word(at, bpf::php_kind_function);
    word(at + bpf::php_function_name, name);
    word(at + bpf::php_function_class, owner);
    word(at + layout.offsets.function_file, file);
    word(at + layout.offsets.function_file + 8, line | uint64_t{line + 20} << 32U);
    return at;
  }
  uint64_t native(uint64_t name) {
    const uint64_t at = next;
    next += 256;
    for (uint64_t i = 0; i < 192; i += 8) word(at + i, 0);
    word(at, bpf::php_kind_native);
    word(at + bpf::php_function_name, name);
    return at;
  }
  uint64_t owner(std::string_view name) {
    const uint64_t named = text(name), at = next;
    next += 64;
    word(at + bpf::php_class_name, named);
    return at;
  }
  // A function is called; it is at `line`.
  void call(uint64_t function, uint32_t line, uint64_t flags = 0, uint8_t code = 60) {
    const uint64_t instruction = next;
    next += 32;
    word(instruction + bpf::php_instruction_line, line | uint64_t{code} << 32U);
    const uint64_t previous = frame;
    frame = frame == 0 ? stack : frame + 112;
    word(frame + bpf::php_frame_instruction, instruction);
    word(frame + bpf::php_frame_function, function);
    word(frame + bpf::php_frame_flags, flags);
    word(frame + bpf::php_frame_previous, previous);
    word(frame + 64, 0);
    word(globals + bpf::php_globals_frame, frame);
  }
  std::vector<uint64_t> read() {
    reads = 0;
    use();
    bpf::read_php(*chain, layout, 0, globals);
    return {chain->items, chain->items + chain->count};
  }
  // What is shown for a word.
  std::string shown(size_t at) {
    auto record = std::make_unique<bpf::script_code_record>();
    record->language = bpf::language_php;
    record->code = bpf::script_code(chain->items[at]);
    if (bpf::read_php_code(&layout, chain->objects[at], record.get()) == 0) return "unreadable";
    Scripts scripts;
    scripts.take(*record, sizeof(*record));
    std::vector<Pc> places;
    scripts.place({}, chain->items[at], places);
    const ScriptCode& code = scripts.all().at(script_index(places.at(0)));
    return code.function + " " + code.file + ":" + std::to_string(script_place(places[0]));
  }

  bpf::php_layout layout{.offsets = bpf::php_8_2,
                         .loop_begin = 0x1000,
                         .loop_end = 0x2000,
                         .cold_begin = 0x500,
                         .cold_end = 0x600};
  uint64_t frame = 0, next = 0x20000;
  std::unique_ptr<bpf::script_chain> chain = std::make_unique<bpf::script_chain>();
};

constexpr uint64_t php_loop = bpf::php_flag_loop, php_any = bpf::php_any_loop;

// The file calls Thing::walk, which calls array_map, which calls a closure.
struct PhpProgramOf : PhpThread {
  uint64_t file = text("/srv/app/index.php");
  uint64_t main = function(0, 0, file, 1);
  uint64_t walk = function(text("walk"), owner("App\\Thing"), file, 10);
  uint64_t map = native(text("array_map"));
  uint64_t closure = function(text("{closure}"), 0, file, 12);
  explicit PhpProgramOf(const bpf::php_offsets& version = bpf::php_8_2) : PhpThread(version) {
    call(main, 90, php_loop | 1U << 16U);
    call(walk, 11);
    call(map, 0);
    call(closure, 13, php_loop);
  }
};

}  // namespace

TEST_CASE("PHP: each loop has the functions up to the one that it began with") {
  bpf::php_offsets version = bpf::php_8_2;
  SUBCASE("8.1") { version = bpf::php_8_1; }
  SUBCASE("8.2") {}
  SUBCASE("8.3") { version = bpf::php_8_3; }
  SUBCASE("8.4") { version = bpf::php_8_4; }
  PhpProgramOf thread(version);
  const std::vector<uint64_t> words = thread.read();
  REQUIRE(words.size() == 5);
  CHECK(words[0] == php_any);
  CHECK(thread.shown(1) == "{closure} /srv/app/index.php:13");
  CHECK(words[2] == php_any);
  CHECK(thread.shown(3) == "App\\Thing::walk /srv/app/index.php:11");
  CHECK(thread.shown(4) == "{main} /srv/app/index.php:90");
  CHECK(thread.chain->end == bpf::script_whole);
  CHECK(thread.chain->runs == 2);
  CHECK(bpf::are_php_loops(thread.chain->end, thread.chain->runs, 2, 0) != 0);
  for (const uint32_t loops : {0U, 1U, 3U})
    CHECK(bpf::are_php_loops(thread.chain->end, thread.chain->runs, loops, 0) == 0);
  CHECK(bpf::are_php_loops(thread.chain->end, thread.chain->runs, 1, 1) != 0);
}

TEST_CASE("PHP: code of the loop, and what was split off it") {
  const bpf::script_loop loop{
      .begin = 0x1000, .bytes = 0x100, .cold_begin = 0x500, .cold_bytes = 0x10};
  CHECK(bpf::is_php_loop(&loop, 0x1000, 1) != 0);
  CHECK(bpf::is_php_loop(&loop, 0x1000, 0) == 0);
  CHECK(bpf::is_php_loop(&loop, 0x1100, 0) != 0);
  CHECK(bpf::is_php_loop(&loop, 0x1100, 1) == 0);
  CHECK(bpf::is_php_loop(&loop, 0x508, 0) != 0);
  CHECK(bpf::is_php_loop(&loop, 0x511, 0) == 0);
}

TEST_CASE("PHP: a function is known by what it says, not by where it is") {
  PhpThread thread;
  const uint64_t file = thread.text("/srv/app/index.php"), name = thread.text("one");
  const auto word = [&](uint64_t function) {
    thread.frame = 0;
    thread.call(function, 7, php_loop);
    return thread.read().at(1);
  };
  const uint64_t first = word(thread.function(name, 0, file, 3));
  CHECK(word(thread.function(name, 0, file, 3)) == first);
  CHECK(word(thread.function(thread.text("one"), 0, thread.text("/srv/app/index.php"), 3)) ==
        first);
  CHECK(word(thread.function(name, 0, file, 4)) != first);
  CHECK(word(thread.function(thread.text("two"), 0, file, 3)) != first);
  CHECK(word(thread.function(name, thread.owner("Thing"), file, 3)) != first);
  CHECK(word(thread.function(name, 0, thread.text("/srv/app/other.php"), 3)) != first);
  CHECK(word(thread.function(0, 0, file, 3)) != first);
  // Files of eval() have no hash. They differ in their ends.
  const std::string path = "/srv/app/" + std::string(300, 'x');
  const uint64_t made = word(thread.function(name, 0, thread.text(path + "(1)", false), 3));
  CHECK(made != first);
  CHECK(word(thread.function(name, 0, thread.text(path + "(1)", false), 3)) == made);
  CHECK(word(thread.function(name, 0, thread.text(path + "(2)", false), 3)) != made);
  // An object that is thrown away, and another one at its place.
  const uint64_t reused = thread.function(name, 0, file, 3);
  CHECK(word(reused) == first);
  thread.word(reused + bpf::php_function_name, thread.text("two"));
  CHECK(word(reused) != first);
}

TEST_CASE("PHP: lines, also of a function that an exception leaves") {
  PhpThread thread;
  const uint64_t f = thread.function(thread.text("f"), 0, thread.text("/f.php"), 3);
  const auto line = [&](uint32_t at, uint8_t code) {
    thread.frame = 0;
    thread.call(f, at, php_loop, code);
    return bpf::script_place(thread.read().at(1));
  };
  CHECK(line(7, 60) == 7);
  CHECK(line(65534, 60) == 65534);
  CHECK(line(65535, 60) == script_no_place);
  CHECK(line(0, 60) == script_no_place);
  CHECK(line(0, bpf::php_code_exception) == 23);  // its last one
  thread.word(0x8000 + bpf::php_instruction_line, 9);
  thread.word(PhpThread::globals + bpf::php_8_2.globals_exception, 0x8000);
  CHECK(line(0, bpf::php_code_exception) == 9);
}

TEST_CASE("PHP: a fiber ends where its stack ends") {
  bpf::php_offsets version = bpf::php_8_2;
  SUBCASE("8.1") { version = bpf::php_8_1; }
  SUBCASE("8.2") {}
  SUBCASE("8.4") { version = bpf::php_8_4; }
  PhpProgramOf thread(version);
  const uint64_t bottom = thread.native(0);
  thread.call(bottom, 0);
  thread.call(thread.closure, 14, php_loop);
  CHECK(thread.read().size() == 2);
  CHECK(thread.chain->runs == 1);
  CHECK(thread.chain->end == bpf::script_whole);
  thread.word(bottom + version.function_handler, 0x5000);  // a native function without a name
  CHECK(thread.read().size() == 7);
  CHECK(thread.chain->runs == 3);
}

TEST_CASE("PHP: generators that wait for an inner one are where they are called") {
  PhpProgramOf thread;
  // One object stands for each generator: outer waits for middle, which waits for inner.
  const uint64_t outer = 0x60000, middle = 0x60200, inner = 0x60400, caller = thread.frame;
  const auto generator = [&](uint64_t at, uint64_t waits_for, uint32_t line) {
    thread.call(thread.function(thread.text("numbers"), 0, thread.file, line), line,
                php_loop | bpf::php_flag_generator);
    thread.word(at + bpf::php_generator_frame, thread.frame);
    thread.word(at + bpf::php_generator_inner, waits_for);
  };
  generator(outer, middle, 31);
  generator(middle, inner, 32);
  generator(inner, 0, 33);
  const uint64_t running = thread.frame;
  thread.call(0, 0);  // what stands for those that wait
  thread.word(thread.frame + bpf::php_frame_object, outer);
  thread.word(thread.frame + bpf::php_frame_previous, caller);
  thread.word(running + bpf::php_frame_previous, thread.frame);
  thread.word(PhpThread::globals + bpf::php_globals_frame, running);
  REQUIRE(thread.read().size() == 9);
  CHECK(thread.chain->end == bpf::script_whole);
  CHECK(thread.chain->runs == 3);
  CHECK(thread.shown(1) == "numbers /srv/app/index.php:33");
  CHECK(thread.chain->items[2] == php_any);
  CHECK(thread.shown(3) == "numbers /srv/app/index.php:32");
  CHECK(thread.shown(4) == "numbers /srv/app/index.php:31");
  CHECK(thread.shown(5) == "{closure} /srv/app/index.php:13");
  for (const uint64_t bad : {uint64_t{0x60601}, uint64_t{0x900000}, outer}) {
    thread.word(middle + bpf::php_generator_inner, bad);
    CHECK(thread.read().empty());
    CHECK(thread.chain->end == bpf::script_unreadable);
  }
}

TEST_CASE("PHP: a thread that runs nothing has no functions") {
  PhpThread thread;
  CHECK(thread.read().empty());
  CHECK(thread.chain->end == bpf::script_none);
}

TEST_CASE("PHP: deep stacks are counted to their end, in few reads") {
  PhpProgramOf thread;
  constexpr unsigned depth = 400;
  for (unsigned i = 0; i < depth; ++i) thread.call(thread.walk, i + 1);
  CHECK(thread.read().size() == depth + 5);
  CHECK(thread.reads < static_cast<int>(1.3 * depth));  // a line each, and the stack
  for (unsigned i = 0; i < 2000; ++i) thread.call(thread.walk, 1);
  CHECK(thread.read().size() == bpf::max_script_items);
  CHECK(thread.chain->items[0] == php_any);
  CHECK(thread.chain->end == bpf::script_too_long);
  CHECK(thread.chain->runs == 2);
}

TEST_CASE("PHP: what is met again in a stack is read once, and anew in the next stack") {
  PhpProgramOf thread;
  constexpr unsigned depth = 400;
  uint64_t instruction = 0;
  for (unsigned i = 0; i < depth; ++i) {
    thread.call(i % 2 == 0 ? thread.walk : thread.closure, 5);
    if (i == 0) instruction = thread.next - 32;
    thread.word(thread.frame + bpf::php_frame_instruction, instruction);
  }
  const std::vector<uint64_t> words = thread.read();
  CHECK(words.size() == depth + 5);
  CHECK(thread.reads < static_cast<int>(0.2 * depth));
  CHECK(thread.shown(1) == "{closure} /srv/app/index.php:5");
  CHECK(thread.shown(2) == "App\\Thing::walk /srv/app/index.php:5");
  thread.word(instruction + bpf::php_instruction_line, 6);
  thread.word(thread.closure + bpf::php_function_name, thread.text("other"));
  CHECK(thread.read().size() == depth + 5);
  CHECK(thread.shown(1) == "other /srv/app/index.php:6");
  CHECK(thread.shown(2) == "App\\Thing::walk /srv/app/index.php:6");
}

TEST_CASE("PHP: functions with a name stay what they are until another request begins") {
  PhpProgramOf thread;
  thread.word(thread.closure, bpf::php_kind_function | uint64_t{bpf::php_function_passing} << 32U);
  thread.chain->memos.life = uint64_t{1} << 63U;
  const std::vector<uint64_t> words = thread.read();
  const int first = thread.reads;
  CHECK(thread.read() == words);
  CHECK(thread.reads < first);
  // As if there were others at their places.
  const uint64_t other = thread.text("other"), instructions = thread.next - 160;
  for (const uint64_t function : {thread.main, thread.walk, thread.map, thread.closure})
    thread.word(function + bpf::php_function_name, other);
  for (uint64_t i = 0; i < 4; ++i)
    thread.word(instructions + 32 * i + bpf::php_instruction_line, 17);
  std::vector<uint64_t> later = thread.read();
  REQUIRE(later.size() == words.size());
  CHECK(later[3] == words[3]);
  // The code of a file may have gone, and so may a closure.
  for (const size_t at : {size_t{1}, size_t{4}}) {
    CHECK(bpf::script_code(later[at]) != bpf::script_code(words[at]));
    CHECK(bpf::script_place(later[at]) == 17);
  }
  ++thread.chain->memos.life;
  later = thread.read();
  CHECK(bpf::script_code(later[3]) != bpf::script_code(words[3]));
  CHECK(bpf::script_place(later[3]) == 17);
}

TEST_CASE("PHP: a native function may lie at the end of memory, one of PHP has more") {
  for (const bool is_native : {true, false}) {
    PhpProgramOf thread;
    const uint64_t at = 0x800000 - bpf::php_function_head_bytes;
    for (uint64_t i = 0; i < bpf::php_function_head_bytes; i += 8) thread.word(at + i, 0);
    thread.word(at, is_native ? bpf::php_kind_native : bpf::php_kind_function);
    thread.word(at + bpf::php_function_name, thread.text("last"));
    thread.call(at, 0);
    CHECK(thread.read().size() == (is_native ? 5 : 0));
    CHECK(thread.chain->end == (is_native ? bpf::script_whole : bpf::script_unreadable));
  }
}

TEST_CASE("PHP: memory that is not there, and lists that go in a circle, end with a mark") {
  for (const uint64_t bad :
       {uint64_t{0x10101}, uint64_t{1} << 47U, ~uint64_t{7}, uint64_t{0x900000}}) {
    const auto broken = [&](auto place) {
      PhpProgramOf thread;
      thread.word(place(thread), bad);
      CHECK(thread.read().empty());
      CHECK(thread.chain->end == bpf::script_unreadable);
    };
    using Thread = const PhpProgramOf&;
    broken([](Thread) { return PhpThread::globals + bpf::php_globals_frame; });
    broken([](Thread thread) { return thread.frame + bpf::php_frame_function; });
    broken([](Thread thread) { return thread.frame + bpf::php_frame_previous; });
    broken([](Thread thread) { return thread.closure + bpf::php_function_name; });
    broken([](Thread thread) { return thread.closure + bpf::php_function_class; });
    broken([](Thread thread) { return thread.closure + bpf::php_8_2.function_file; });
  }
  PhpProgramOf circle;
  circle.word(circle.frame + bpf::php_frame_previous, circle.frame);
  CHECK(circle.read().empty());
  CHECK(circle.chain->end == bpf::script_unreadable);
  PhpProgramOf other_kind;
  other_kind.word(other_kind.closure, 3);
  CHECK(other_kind.read().empty());
  CHECK(other_kind.chain->end == bpf::script_unreadable);
  // A function that no loop has begun with.
  PhpThread no_loop;
  no_loop.call(no_loop.function(0, 0, no_loop.text("/f.php"), 1), 5);
  CHECK(no_loop.read().empty());
  CHECK(no_loop.chain->end == bpf::script_unreadable);
}

TEST_CASE("PHP: names of classes without one end at the zero, long ones are cut") {
  PhpThread thread;
  using namespace std::string_view_literals;
  thread.call(thread.function(thread.text("run"), thread.owner("class@anonymous\0/srv/a.php:3$0"sv),
                              thread.text("/srv/a.php"), 4),
              5, php_loop);
  REQUIRE(thread.read().size() == 2);
  CHECK(thread.shown(1) == "class@anonymous::run /srv/a.php:5");
  thread.frame = 0;
  thread.call(thread.function(thread.text(std::string(600, 'n')), 0, thread.text("/srv/a.php"), 4),
              5, php_loop);
  REQUIRE(thread.read().size() == 2);
  CHECK(thread.shown(1) == std::string(511, 'n') + "… /srv/a.php:5");
}
