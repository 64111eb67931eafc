// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

using namespace std::string_literals;

std::string number(int64_t value) {
  std::string bytes;
  auto left = static_cast<uint64_t>(value);
  for (; left >= 0x80; left >>= 7U) bytes += static_cast<char>(0x80U | (left & 0x7fU));
  return bytes + static_cast<char>(left);
}

std::string numbers(const std::vector<int64_t>& values) {
  std::string bytes;
  for (const int64_t value : values) bytes += number(value);
  return bytes;
}

std::string text(const std::string& text) {
  return "\x03"s + number(static_cast<int64_t>(text.size())) + text;
}

std::string fixed(uint64_t value, int size) {
  std::string bytes;
  while (size-- > 0) bytes += size < 8 ? static_cast<char>(value >> (8 * size)) : '\0';
  return bytes;
}

// Behind its size, which Java pads to four bytes.
std::string event(int64_t type, const std::string& body) {
  const std::string rest = number(type) + body;
  const auto size = static_cast<unsigned>(rest.size() + 4);
  std::string bytes;
  for (unsigned shift = 0; shift < 28; shift += 7)
    bytes += static_cast<char>((shift < 21 ? 0x80U : 0U) | ((size >> shift) & 0x7fU));
  return bytes + rest;
}

std::string chunk(const std::string& events, uint64_t major = 2) {
  return "FLR\0"s + fixed(major, 2) + fixed(1, 2) + fixed(68 + events.size(), 8) + fixed(0, 16) +
         fixed(1'000'000'000, 8) + fixed(2'000'000'000, 8) + fixed(0, 16) + fixed(1, 4) + events;
}

struct Field {
  std::string name;
  int64_t type = 0;
  std::string more{};  // "p" pooled, "a" array
};

struct Type {
  int64_t id = 0;
  std::string name;
  std::vector<Field> fields{};
};

// The event that describes types.
std::string metadata(const std::vector<Type>& types) {
  std::vector<std::string> strings;
  const auto string = [&](const std::string& text) {
    const auto at = std::find(strings.begin(), strings.end(), text);
    if (at == strings.end()) strings.push_back(text);
    return number(std::find(strings.begin(), strings.end(), text) - strings.begin());
  };
  const auto element = [&](const std::string& name,
                           const std::vector<std::pair<std::string, std::string>>& attributes,
                           const std::vector<std::string>& children) {
    std::string bytes = string(name) + number(static_cast<int64_t>(attributes.size()));
    for (const auto& [key, value] : attributes) bytes += string(key) + string(value);
    bytes += number(static_cast<int64_t>(children.size()));
    for (const std::string& child : children) bytes += child;
    return bytes;
  };
  std::vector<std::string> classes;
  for (const Type& type : types) {
    std::vector<std::string> fields;
    for (const Field& field : type.fields)
      fields.push_back(element("field",
                               {{"name", field.name},
                                {"class", std::to_string(field.type)},
                                {"constantPool", field.more == "p" ? "true" : "false"},
                                {"dimension", field.more == "a" ? "1" : "0"}},
                               {element("annotation", {}, {})}));
    classes.push_back(
        element("class", {{"id", std::to_string(type.id)}, {"name", type.name}}, fields));
  }
  const std::string tree = element("root", {}, {element("metadata", {}, classes)});
  std::string body =
      number(0) + number(0) + number(1) + number(static_cast<int64_t>(strings.size()));
  for (const std::string& each : strings) body += text(each);
  return event(0, body + tree);
}

const std::vector<Type> types{
    {10, "boolean"},
    {11, "int"},
    {12, "long"},
    {13, "java.lang.String"},
    {20, "java.lang.Class", {{"name", 21, "p"}, {"package", 26, "p"}}},
    {21, "jdk.types.Symbol", {{"string", 13}}},
    {22, "jdk.types.Method", {{"type", 20, "p"}, {"name", 21, "p"}}},
    {23, "jdk.types.StackFrame", {{"method", 22, "p"}, {"lineNumber", 11}}},
    {24, "jdk.types.StackTrace", {{"truncated", 10}, {"frames", 23, "a"}}},
    {25, "java.lang.Thread", {{"osName", 13}, {"javaName", 13}}},
    {26, "jdk.types.Package", {{"module", 27, "p"}}},
    {27, "jdk.types.Module", {{"name", 21, "p"}, {"version", 21, "p"}}},
    {28, "jdk.types.OldObject", {{"type", 20, "p"}}},
    {100,
     "jdk.ObjectAllocationSample",
     {{"startTime", 12},
      {"eventThread", 25, "p"},
      {"stackTrace", 24, "p"},
      {"objectClass", 20, "p"},
      {"weight", 12}}},
    {101,
     "jdk.ObjectAllocationInNewTLAB",
     {{"stackTrace", 24, "p"}, {"objectClass", 20, "p"}, {"allocationSize", 12}, {"tlabSize", 12}}},
    {102,
     "jdk.ObjectAllocationOutsideTLAB",
     {{"stackTrace", 24, "p"}, {"objectClass", 20, "p"}, {"allocationSize", 12}}},
    {103,
     "jdk.OldObjectSample",
     {{"stackTrace", 24, "p"}, {"object", 28, "p"}, {"objectSize", 12}}},
    {104, "jdk.ThreadSleep", {{"time", 12}}},
};

std::string pool(int64_t type, const std::vector<std::string>& values) {
  std::string bytes = number(type) + number(static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i)
    bytes += number(static_cast<int64_t>(i) + 1) + values[i];
  return bytes;
}

// Symbols from 1: the class, the method, the arrays, the module and its version.
const std::string symbols =
    pool(21, {text("app/Main"), text("run"), text("[B"), text("[[Ljava/lang/String;"),
              text("my.module"), text("1.2"), text("app/Main$$Lambda$1+0x00007f00aa/63")});

std::string checkpoint(const std::vector<std::string>& pools) {
  std::string body =
      number(0) + number(0) + number(0) + "\0"s + number(static_cast<int64_t>(pools.size()));
  for (const std::string& each : pools) body += each;
  return event(1, body);
}

const std::string pools = checkpoint(
    {symbols, pool(20, {numbers({1, 1}), numbers({3, 0}), numbers({4, 0}), numbers({7, 0})}),
     pool(22, {numbers({1, 2}), numbers({4, 2})}), pool(26, {number(1)}),
     pool(27, {numbers({5, 6})}), pool(25, {text("os") + text("worker")}), pool(28, {number(3)}),
     pool(24,
          {"\0"s + numbers({2, 1, 7, 1, 9}), "\x01"s + numbers({1, 2, 5}), "\0"s + number(0)})});

const std::string events = event(100, numbers({5, 1, 1, 2, 4000})) + event(104, number(7)) +
                           event(100, numbers({6, 1, 1, 2, 96})) +
                           event(101, numbers({1, 2, 24, 1000})) +
                           event(102, numbers({2, 3, 70000})) + event(103, numbers({3, 1, 48})) +
                           event(100, numbers({6, 0, 0, 0, 1}));
const std::string whole = chunk(pools + events + metadata(types));

bool has_note(const Profile& p, std::string_view part) {
  return std::any_of(p.meta.notes.begin(), p.meta.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("jfr: a recording of Java 17, with the figures of 'jfr print'") {
  const Profile p = read_data("jfr/app.jfr.xz");
  const std::initializer_list<std::pair<const char*, int64_t>> totals{
      {"allocated", 21175672},   {"samples", 20},      {"tlabs", 30082400 + 3015048},
      {"tlab_objects", 3369224}, {"tlab_events", 101}, {"kept_objects", 8}};
  for (const auto& each : totals)
    CHECK_MESSAGE(p.total(column(p, each.first)) == each.second, each.first);
  CHECK(p.types.size() == totals.size());
  const Stacks tlabs = stacks(p, "tlabs");
  CHECK(tlabs.at("App.main;App.block;byte[]") == 3000016);
  CHECK(tlabs.at("java.lang.Thread.run;App$$Lambda$83.run;App.lambda$main$1;App$$Lambda$82.apply;"
                 "App.lambda$main$0;java.lang.String[]") == 8242808);
  CHECK(p.losses.lost_events() == 0);
}

TEST_CASE("jfr: each kind of event has its columns") {
  CHECK(recognised(whole) == "jfr");
  const Profile p = read_text(whole);
  const std::string run = "app.Main.run;app.Main.run";
  CHECK(stacks(p) == Stacks{{run + ";byte[]", 4096}, {"[no stack]", 1}});
  CHECK(p.types[p.shown] == ValueType{"allocated", Unit::bytes});
  CHECK(stacks(p, "samples") == Stacks{{run + ";byte[]", 2}, {"[no stack]", 1}});
  const std::string cut =
      "[truncated: more frames than JFR keeps];app.Main$$Lambda$1.run;java.lang.String[][]";
  CHECK(stacks(p, "tlabs") == Stacks{{run + ";byte[]", 1000}, {cut, 70000}});
  CHECK(stacks(p, "tlab_objects") == Stacks{{run + ";byte[]", 24}, {cut, 70000}});
  CHECK(stacks(p, "tlab_events") == Stacks{{run + ";byte[]", 1}, {cut, 1}});
  CHECK(stacks(p, "kept") == Stacks{{"[no stack];java.lang.String[][]", 48}});
  CHECK(stacks(p, "kept_objects") == Stacks{{"[no stack];java.lang.String[][]", 1}});
  CHECK(p.strings[p.frames[p.path(p.touched()[0])[0]].module] == "my.module@1.2");
  CHECK(p.meta.seconds == 2);
  CHECK_FALSE(p.meta.sampling.empty());
  CHECK(p.losses.lost_events() == 0);
  CHECK(stacks(read_text(whole, {}, {.tid = true})).at("worker;" + run + ";byte[]") == 4096);
  const Profile lines = read_text(whole, {}, {.lines = true});
  CHECK(lines.frames[lines.path(lines.touched()[0])[0]].line == 9);
}

TEST_CASE("jfr: chunks add up, each with pools of its own") {
  const std::string other = chunk(checkpoint({pool(24, {"\0"s + number(0)})}) +
                                  event(100, numbers({5, 1, 1, 0, 10})) + metadata(types));
  const Profile p = read_text(whole + other);
  CHECK(p.total(0) == 4107);
  CHECK(stacks(p).at("[no stack]") == 11);
  CHECK(p.meta.seconds == 4);
  const Profile behind = read_text(whole + "something else");
  CHECK(behind.total(0) == 4097);
  CHECK(behind.losses[Loss::input_line].events == 1);
}

TEST_CASE("jfr: a chunk that is cut gives what is whole, and says so") {
  const Profile p = read_text(whole + whole.substr(0, 300));
  CHECK(p.total(0) == 4097);
  CHECK(has_note(p, "ends in the middle of a chunk, of which 300 of"));
  CHECK(has_note(p, "what describes its events is missing"));
  std::string unfinished = chunk(metadata(types) + pools + events);
  const std::string cut = unfinished.substr(0, unfinished.size() - 2);
  CHECK(read_text(cut).total(0) == 4096);  // its last event is missing
  std::fill_n(unfinished.begin() + 8, 8, '\0');
  CHECK(read_text(unfinished).total(0) == 4097);
  CHECK(has_note(read_text(unfinished), "ends in the middle"));
  CHECK(error_of(cut, {}, {.refuse_truncated = true}).find("in the middle") != std::string::npos);
  for (size_t size = 4; size < whole.size(); ++size)
    CHECK_MESSAGE(!error_of(whole.substr(0, size)).empty(), size);
}

TEST_CASE("jfr: what is not read says why") {
  CHECK(error_of(chunk("", 1)).find("its version is 1.1") != std::string::npos);
  CHECK(error_of(chunk(metadata(types))).find("settings=profile") != std::string::npos);
  std::string plain = whole;
  plain[67] = '\0';
  CHECK(error_of(plain).find("not compressed") != std::string::npos);
  CHECK(error_of(chunk(pools + events)).find("without a description") != std::string::npos);
}

TEST_CASE("jfr: damaged and hostile input") {
  for (size_t at = 0; at < whole.size(); ++at)
    for (const char byte : {'\0', '\x01', '\x7f', '\x80', '\xff'}) {
      std::string changed = whole;
      changed[at] = byte;
      try {
        read_text(changed, "jfr");
      } catch (const std::exception&) {  // refused
      }
    }
  CHECK(error_of(chunk(events + metadata(types))).find("a stack that is not in the recording") !=
        std::string::npos);
  const std::string many = checkpoint({number(24) + number(1'000'000'000)});
  const Profile counted = read_text(chunk(pools + many + events + metadata(types)));
  CHECK(counted.total(0) == 4097);
  CHECK(counted.losses[Loss::input_line].events == 1);
  // A type that has itself as a field, and one that takes no bytes.
  std::vector<Type> odd = types;
  odd.push_back({200, "loop", {{"self", 200}}});
  odd.push_back({201, "nothing"});
  odd.push_back({202, "many", {{"all", 201, "a"}}});
  for (const int64_t type : {200, 202, 203}) {
    const Profile p = read_text(chunk(
        pools + checkpoint({number(type) + number(1) + numbers({1, 100}) + std::string(200, 'x')}) +
        events + metadata(odd)));
    CHECK(p.losses[Loss::input_line].events != 0);
  }
  const std::string most = numbers({5, 1, 0, 0}) + number(INT64_MAX);
  CHECK(error_of(chunk(event(100, most) + event(100, most) + metadata(types))).find("64 bits") !=
        std::string::npos);
}
