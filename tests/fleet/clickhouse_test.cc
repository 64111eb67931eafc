// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <string>

#include "core/error.h"
#include "core/gzip.h"
#include "core/hash.h"
#include "fleet/clickhouse/batch.h"
#include "fleet/clickhouse/question.h"
#include "fleet/clickhouse/row_binary.h"
#include "fleet/clickhouse/schema.h"
#include "fleet/clickhouse/stack_row.h"
#include "fleet/clickhouse/store_leaks.h"
#include "fleet/output.h"

using namespace memflame;

namespace {

constexpr int64_t now_ns = 1'800'000'000'000'000'000;  // 2027-01-15 08:00:00

Profile made_profile() {
  Profile profile;
  profile.types = {{"inuse_space", Unit::bytes}, {"alloc_space", Unit::bytes}};
  StackId stack = profile.push({}, "shop", FrameKind::process);
  const CodeMappingId mapping = profile.code.add(
      {.file = "/bin/shop", .build_id = "ab12", .start = 0x1000, .limit = 0x9000, .offset = 0x10});
  profile.code.mark_program(mapping);
  const Frame frame{.function = profile.strings.intern("f(int)"),
                    .module = profile.strings.intern("/bin/shop"),
                    .file = profile.strings.intern("f.cc"),
                    .line = 7,
                    .kind = FrameKind::inlined,
                    .start_line = 5,
                    .code = profile.code.add({mapping, 0x1234})};
  stack = profile.stacks.push(stack, profile.frames.intern(frame));
  profile.add(stack, std::vector<int64_t>{4096, 0});
  return profile;
}

WindowHead made_head() {
  return {.id = new_window_id(),
          .began_ns = now_ns - 60 * ns_a_second,
          .ended_ns = now_ns,
          .labels = {{"service", "shop"}, {"host", "a"}},
          .figures = {},
          .top = {}};
}

}  // namespace

TEST_CASE("an address says which windows") {
  const StoreQuestion question = question_of(
      "clickhouse://ann@db.example:81/fleet?service=che%20ck&type=inuse_space&from=-2h&to=-30m&"
      "host=a&host=b&version=1.2+3&password_file=/etc/word&plain=true",
      now_ns);
  CHECK(question.store.url == "http://db.example:81");
  CHECK(question.store.database == "fleet");
  CHECK(question.store.access.user == "ann");
  CHECK(question.store.access.password_file == "/etc/word");
  CHECK(question.service == "che ck");
  CHECK(question.type == "inuse_space");
  CHECK(question.from_ns == now_ns - 7200 * ns_a_second);
  CHECK(question.to_ns == now_ns - 1800 * ns_a_second);
  REQUIRE(question.labels.size() == 2);
  CHECK(question.labels[0].values == std::vector<std::string>{"a", "b"});
  CHECK(question.labels[1].values == std::vector<std::string>{"1.2+3"});
  CHECK(asked_text(question) == "service=che ck, type=inuse_space, host=a, host=b, version=1.2+3");
  CHECK(shown(question.store) == "clickhouse://db.example:81/fleet");
}

TEST_CASE("an address has defaults, times in UTC, and TLS") {
  const StoreQuestion plain = question_of("clickhouse://db", now_ns);
  CHECK(plain.store.url == "http://db:8123");
  CHECK(plain.store.database == "memflame");
  CHECK(plain.to_ns - plain.from_ns == 3600 * ns_a_second);
  const StoreQuestion safe =
      question_of("clickhouses://[::1]/a?from=2027-01-14&to=2027-01-14T12:30", now_ns);
  CHECK(safe.store.url == "https://[::1]:8443");
  CHECK(range_text(safe.from_ns, safe.to_ns) ==
        "from 2027-01-14 00:00:00 to 2027-01-14 12:30:00 UTC");
  CHECK(question_of("clickhouse://db?from=5&to=90", now_ns).from_ns == 5 * ns_a_second);
}

TEST_CASE("an address that cannot be meant is refused") {
  for (const char* address :
       {"http://db", "clickhouse://", "clickhouse://db:0", "clickhouse://db:x", "clickhouse://d b",
        "clickhouse://db/a;b", "clickhouse://db/a?x", "clickhouse://db/a?=1",
        "clickhouse://db/a?service=%zz", "clickhouse://db/a?from=yesterday",
        "clickhouse://db/a?from=now", "clickhouse://db/a?from=-1h&to=-2h",
        "clickhouse://ann:word@db/a", "clickhouse://db/a?password_file=x",
        "clickhouse://ann@db/a?password_file=x", "clickhouse://db/a?from=99999999999"})
    CHECK_THROWS_AS_MESSAGE(question_of(address, now_ns), Error, address);
  CHECK_THROWS_AS(store_address_of("clickhouse://db/a?service=x"), Error);
}

TEST_CASE("rows give their values back, and a reply that ends early is an error") {
  RowWriter writer;
  writer.number(uint16_t{40'000});
  writer.number(int64_t{-5});
  writer.number(0.5);
  writer.text(std::string(300, 'x'));
  writer.texts({"", std::string("a\0b", 3)});
  writer.numbers(std::vector<uint64_t>{1, UINT64_MAX});
  const std::string bytes = writer.bytes();
  const auto read = [](std::string_view from) {
    RowReader rows(from);
    bool is_right = rows.number<uint16_t>() == 40'000;
    is_right = rows.number<int64_t>() == -5 && is_right;
    is_right = rows.number<double>() == 0.5 && is_right;
    is_right = rows.text() == std::string(300, 'x') && is_right;
    is_right = rows.texts() == std::vector<std::string>{"", std::string("a\0b", 3)} && is_right;
    is_right = rows.numbers<uint64_t>() == std::vector<uint64_t>{1, UINT64_MAX} && is_right;
    return is_right && rows.at_end();
  };
  CHECK(read(bytes));
  for (size_t size = 0; size < bytes.size(); ++size)
    CHECK_THROWS_AS(read(std::string_view(bytes).substr(0, size)), Error);
  RowReader endless("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff");
  CHECK_THROWS_AS(endless.count(), Error);
  RowReader huge("\xff\xff\xff\xff\x0f");
  CHECK_THROWS_AS(huge.texts(), Error);
}

TEST_CASE("a stack's row gives its frames back, with and without addresses") {
  const Profile profile = made_profile();
  const std::string row = stack_row(profile, profile.touched()[0]);
  Profile with;
  RowReader rows(row);
  const StackId stack = read_stack_row(rows, with, true);
  CHECK(stack_row(with, stack) == row);
  CHECK(with.code.is_program(with.code[with.frames[with.stacks[stack].frame].code].mapping));
  Profile without;
  RowReader again(row);
  const Frame frame = without.frames[without.stacks[read_stack_row(again, without, false)].frame];
  CHECK(without.code.empty());
  CHECK(without.strings[frame.function] == "f(int)");
  CHECK(frame.kind == FrameKind::inlined);
  CHECK(frame.line == 7);
}

TEST_CASE("a stack that the store has damaged is an error") {
  RowWriter row;
  row.texts({"main"});
  for (int i = 0; i < 3; ++i) row.texts({});
  for (int i = 0; i < 2; ++i) row.numbers(std::vector<uint32_t>{});
  row.texts({});
  row.numbers(std::vector<uint64_t>{});
  row.texts({});
  for (int i = 0; i < 3; ++i) row.numbers(std::vector<uint64_t>{});
  row.numbers(std::vector<uint8_t>{});
  Profile profile;
  RowReader rows(row.bytes());
  CHECK_THROWS_AS(read_stack_row(rows, profile, true), Error);
}

TEST_CASE("a window has a row for each stack and type that is not 0") {
  WindowRows rows;
  const WindowHead head = made_head();
  rows.add(head, made_profile(), 17);
  CHECK(rows.stacks().size() == 1);
  RowReader sample(rows.samples());
  CHECK(sample.number<uint16_t>() == now_ns / ns_a_second / seconds_a_day);
  CHECK(sample.text() == "shop");
  CHECK(sample.text() == "inuse_space");
  CHECK(sample.number<uint32_t>() % slot_seconds == 0);
  CHECK(sample.number<uint64_t>() == series_of(head));
  CHECK(sample.number<uint32_t>() == now_ns / ns_a_second);
  CHECK(sample.number<uint64_t>() == 17);
  CHECK(sample.text() == "a");
  CHECK(sample.number<uint64_t>() == rows.stacks().begin()->first);
  CHECK(sample.number<int64_t>() == 4096);
  CHECK(sample.at_end());
  WindowHead other = head;
  other.labels["version"] = "2";
  CHECK(series_of(other) != series_of(head));
}

// What is stored by its hash must have it in the next release, too.
TEST_CASE("the hash of a stack stays what it is") {
  CHECK(lasting_hash("") == 0x2d06800538d394c2U);
  CHECK(lasting_hash("memflame") == lasting_hash(std::string("memflame")));
}

TEST_CASE("bodies are packed") {
  const std::string text(100'000, 'x');
  const std::string packed = gzip_body(text);
  CHECK(packed.starts_with("\x1f\x8b"));
  CHECK(packed.size() < 1000);
  CHECK(gzip_body("").size() == 20);
}

TEST_CASE("statements name no database but the one that was asked for") {
  CHECK(store_statements("a_1")[0] == "CREATE DATABASE IF NOT EXISTS a_1");
  for (const char* name : {"", "1a", "a b", "a`", "a;b", "a.b", "ä"})
    CHECK_THROWS_AS(store_statements(name), Error);
}

TEST_CASE("settings of the output are checked with their lines") {
  const auto made = [](const std::string& text) {
    return make_output(Setting::read(text, "watch.json"));
  };
  CHECK(made(R"({"kind": "clickhouse", "url": "http://db:8123"})")->batch() == 64);
  CHECK(made(R"({"kind": "clickhouse", "url": "http://db:8123", "batch": 5})")->batch() == 5);
  CHECK_THROWS_AS(made(R"({"kind": "clickhouse"})"), Error);
  CHECK_THROWS_AS(made(R"({"kind": "clickhouse", "url": "http://db", "database": "a b"})"), Error);
  CHECK_THROWS_AS(made(R"({"kind": "clickhouse", "url": "http://db", "batch": 0})"), Error);
  CHECK_THROWS_AS(made(R"({"kind": "clickhouse", "url": "http://db", "table": "x"})"), Error);
}

TEST_CASE("a verdict on a fleet names the version, the hosts and the innocent") {
  StoreGrowth growth;
  growth.kind = StoreGrowth::Kind::leak;
  growth.version = "1.5";
  growth.places = growth.growing = 3;
  growth.bytes_per_hour = 2048;
  growth.innocent = {"1.4", ""};
  CHECK(in_words(growth) ==
        "leak in version 1.5: 2.0 KiB per hour, grows steadily on 3 of 3 hosts; not in 1.4, "
        "without a version");
  growth.kind = StoreGrowth::Kind::some;
  growth.growing = 1;
  growth.growing_hosts = {"h2"};
  growth.innocent.clear();
  CHECK(in_words(growth) == "grows in version 1.5 on 1 of 3 hosts (h2) only: 2.0 KiB per hour");
  CHECK_FALSE(growth.may_leak());
  growth.short_places = 1;
  CHECK(growth.may_leak());
  growth.kind = StoreGrowth::Kind::unsure;
  CHECK(in_words(growth) == "cannot tell yet in version 1.5: fewer than 4 windows on 1 of 3 hosts");
  growth.kind = StoreGrowth::Kind::settled;
  growth.last_bytes = 1024;
  CHECK(in_words(growth) == "grew in version 1.5 by 1.0 KiB, and has settled");
}
