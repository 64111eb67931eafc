// SPDX-License-Identifier: BSD-2-Clause
#include "probes/languages/scripts/scripts.h"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string_view>

#include "probes/languages/names.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only
using namespace std::string_view_literals;

namespace {

constexpr uint32_t ascii = 1U << 2U | 1U << 5U | 1U << 6U;
constexpr SpaceId space{3};

void send(Scripts& scripts, uint64_t code, std::string_view name, uint32_t in = space.index) {
  auto record = std::make_unique<bpf::script_code_record>();
  record->space = in;
  record->code = code;
  record->language = bpf::language_python;
  record->first_line = 7;
  record->name = {static_cast<uint32_t>(name.size()), ascii};
  record->file = {4, ascii};
  record->line_bytes = 2;
  std::memcpy(record->name_text, name.data(), name.size());
  std::memcpy(record->file_text, "a.py", 4);
  std::memcpy(record->lines, "\x80\x01", 2);
  scripts.take(*record, offsetof(bpf::script_code_record, lines) + 2);
}

const ScriptCode& code_of(const Scripts& scripts, const Pc& pc) {
  REQUIRE(is_script(pc));
  return scripts.all().at(script_index(pc));
}

Pc place(Scripts& scripts, uint64_t word, SpaceId in = space) {
  std::vector<Pc> pcs;
  scripts.place(in, word, pcs);
  REQUIRE(pcs.size() == 1);
  return pcs.front();
}

std::string text(std::string_view bytes, unsigned width, bool is_ascii = false) {
  return python_text({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()},
                     width << 2U | 1U << 5U | (is_ascii ? 1U << 6U : 0U));
}

}  // namespace

TEST_CASE("scripts: what a process keeps ends when code is freed, if somebody would tell") {
  bpf::interpreter interpreter{};
  CHECK(bpf::script_life(&interpreter, 3) == 0);
  interpreter.probes = bpf::script_checks;
  const uint64_t life = bpf::script_life(&interpreter, 3);
  CHECK((life >> 63U) == 1);  // no number of a stack
  CHECK(bpf::script_life(&interpreter, 4) != life);
  for (const uint32_t probes : {1U, 2U}) {
    interpreter = {};
    interpreter.probes = probes;
    for (uint32_t met = 0; met < probes; ++met) {
      CHECK(bpf::script_life(&interpreter, 3) == 0);
      interpreter.met[met] = 1;
    }
    CHECK(bpf::script_life(&interpreter, 3) == life);
    ++interpreter.frees;
    CHECK(bpf::script_life(&interpreter, 3) != life);
  }
  interpreter.probes = 2;
  interpreter.met[0] = 0;
  CHECK(bpf::script_life(&interpreter, 3) == 0);
}

TEST_CASE("a word means what was read of its address last, in its space") {
  Scripts scripts;
  const uint64_t word = bpf::script_word(bpf::language_python, 0x1000, 5);
  send(scripts, 0x1000, "first");
  send(scripts, 0x1000, "other", 4);
  const Pc before = place(scripts, word);
  CHECK(code_of(scripts, before).function == "first");
  CHECK(code_of(scripts, before).file == "a.py");
  CHECK(code_of(scripts, before).first_line == 7);
  CHECK(code_of(scripts, before).lines == "\x80\x01");
  CHECK(script_place(before) == 5);
  send(scripts, 0x1000, "second");
  CHECK(code_of(scripts, place(scripts, word)).function == "second");
  CHECK(code_of(scripts, place(scripts, word, SpaceId{4})).function == "other");
  CHECK(code_of(scripts, before).function == "first");
  scripts.forget(space);
  CHECK(code_of(scripts, place(scripts, word)).function == "[python: unreadable]");
}

TEST_CASE("a function of V8 that is readable later has its name in earlier stacks") {
  Scripts scripts;
  const uint64_t word = bpf::v8_key(5, 81, 7);
  auto record = std::make_unique<bpf::script_code_record>();
  const auto tell = [&](std::string_view name, uint32_t thread) {
    record->space = space.index;
    record->thread = thread;
    record->code = word;
    record->language = bpf::language_javascript;
    record->name = {static_cast<uint32_t>(name.size()),
                    name.empty() ? 0U : uint32_t{bpf::v8_text_latin}};
    std::memcpy(record->name_text, name.data(), name.size());
    scripts.take(*record, offsetof(bpf::script_code_record, lines));
  };
  tell("", 5);
  const Pc before = place(scripts, word);
  CHECK(code_of(scripts, before).function == "[javascript: unreadable]");
  CHECK(scripts.unread() == 1);
  tell("", 5);
  CHECK(scripts.unread() == 1);
  tell("other", 6);
  CHECK(code_of(scripts, before).function == "[javascript: unreadable]");
  tell("deep", 5);
  CHECK(code_of(scripts, before).function == "deep");
  CHECK(scripts.unread() == 0);
  CHECK(code_of(scripts, place(scripts, word)).function == "deep");
}

TEST_CASE("a function that is made again is the same one") {
  Scripts scripts;
  send(scripts, 0x1000, "made");
  send(scripts, 0x2000, "made");
  CHECK(scripts.all().size() == 2);
}

TEST_CASE("marks stand for functions that are not known") {
  Scripts scripts;
  const auto mark = [&](uint32_t end) {
    return code_of(scripts, place(scripts, bpf::script_word(bpf::language_python, 0, end)))
        .function;
  };
  CHECK(mark(bpf::script_unreadable) == "[python: unreadable]");
  CHECK(mark(bpf::script_too_long) == "[python: too deep]");
}

TEST_CASE("a damaged record is not a function") {
  Scripts scripts;
  auto record = std::make_unique<bpf::script_code_record>();
  scripts.take(*record, 8);
  CHECK(scripts.all().size() == 1);
  record->language = bpf::language_python;
  record->name = {UINT32_MAX, ascii};
  record->file = {UINT32_MAX, 0};
  record->line_bytes = UINT32_MAX;
  scripts.take(*record, sizeof(*record));
  CHECK(scripts.all().back().lines.size() == bpf::max_script_lines);
  CHECK(scripts.all().back().file == "…");
}

TEST_CASE("a str of Python has characters of one, two or four bytes") {
  CHECK(text("f\xfc", 1) == "fü");
  CHECK(text("name", 1, true) == "name");
  CHECK(text("\x0d\x54\x4d\x52"sv, 2) == "名前");
  CHECK(text("\x4f\xd5\x01\0"sv, 4) == "𝕏");
  CHECK(text("\x00\xd8"sv, 2) == "\xef\xbf\xbd");  // half of a pair
  CHECK(text("\xff\xff\xff\xff"sv, 4) == "\xef\xbf\xbd");
  CHECK(text("abc", 3).empty());
}
