// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/attaching/unseen.h"

#include <doctest/doctest.h>

#include "core/error.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

struct Maker {
  ModuleId file(const std::string& path) {
    recording.modules.emplace_back().path = path;
    return ModuleId{static_cast<uint32_t>(recording.modules.size() - 1)};
  }
  SpaceId space(const std::string& comm, const std::vector<ModuleId>& files,
                SpaceId forked_from = {}) {
    const auto number = static_cast<uint32_t>(recording.spaces.size());
    Space& space = recording.spaces.emplace_back();
    space.pid = 100 + number;
    space.comm = comm;
    space.forked_from = forked_from;
    for (const ModuleId id : files) space.mappings.push_back({.module = id});
    return SpaceId{number};
  }
  Unseen find() const {
    return find_unseen(
        recording, {.allocates = [](const Module& module) { return module.path.find("libc") == 0; },
                    .is_go = [](const Module& module) { return module.path.find("/go/") == 0; },
                    .is_valgrind = [](const Module& module) { return module.path == "memcheck"; }});
  }
  std::string words(const AllocOptions& options = {}, bool is_command = false) const {
    try {
      return unseen_in_words(find(), options, is_command);
    } catch (const Error& error) {
      return std::string("error: ") + error.what();
    }
  }

  Recording recording;
};

}  // namespace

TEST_CASE("a process with an allocator is seen, also a child that has its parent's files") {
  Maker m;
  const SpaceId parent = m.space("sh", {m.file("/bin/sh"), m.file("libc.so.6")});
  m.space("sh", {}, parent);
  m.space("gone", {});  // of which nothing is known
  m.space("new", {m.file("/bin/new"), m.file("/lib64/ld-linux-x86-64.so.2")});
  CHECK(m.find().seen == 2);
  CHECK(m.words().empty());
}

TEST_CASE("where some have none, it is said which and what was searched") {
  Maker m;
  const SpaceId shell = m.space("sh", {m.file("libc.so.6")});
  m.space("server", {m.file("/opt/server")}, SpaceId{});
  m.space("sh", {}, shell);
  CHECK(m.words() ==
        "not seen: what server (102) allocated, as malloc and free were not found in /opt/server: "
        "name its functions with --alloc and --free, or use 'memflame fault' or 'memflame brk', "
        "which need none");
}

TEST_CASE("where none has any, the run is an error; long lists are cut") {
  Maker m;
  for (int i = 0; i < 6; ++i) m.space("go", {m.file("/go" + std::to_string(i))});
  const std::string text = m.words();
  CHECK(text.find("error: nothing could be seen of go (101), go (102), go (103), go (104) and 2 "
                  "more: malloc and free were looked for in /go0, /go1, /go2, /go3 and 2 more and "
                  "not found: name its") == 0);
  CHECK("error: " + m.words({}, true) == text);  // a command has a result of its own
  AllocOptions options;
  options.object = "libx.so";
  CHECK(m.words(options).find("error: --obj libx.so: no process that was watched, go (101)") == 0);
}

TEST_CASE("a program under valgrind is not seen, though its C library has probes") {
  Maker m;
  const ModuleId libc = m.file("libc.so.6");
  m.space("sh", {libc});
  const SpaceId checked = m.space("memcheck-amd64-", {m.file("memcheck"), libc});
  m.space("memcheck-amd64-", {}, checked);
  m.space("cat", {libc}, SpaceId{});  // what it has executed
  const Unseen unseen = m.find();
  CHECK(unseen.seen == 2);
  CHECK(unseen.valgrind.size() == 2);
  CHECK(count_of(unseen) == 2);
  CHECK(m.words().empty());
  CHECK(
      valgrind_in_words(unseen).find("not seen: what memcheck-amd64- (102), memcheck-amd64- (103) "
                                     "allocated: valgrind runs") == 0);
  CHECK(valgrind_in_words({}).empty());
}

TEST_CASE("Go has an allocator of its own, also in a process with another") {
  Maker m;
  m.space("web", {m.file("/go/web"), m.file("libc.so.6")});
  CHECK(
      m.words() ==
      "the allocator of Go, in web (101), is not probed: for Go's heap use 'memflame heap -p PID'");
  CHECK(count_of(m.find()) == 1);
  Maker alone;
  alone.space("web", {alone.file("/go/web")});
  CHECK(count_of(alone.find()) == 1);
  CHECK(alone.words().find(
            "looked for in /go/web and not found; the allocator of Go, in web (101), "
            "is not probed: for Go's heap use 'memflame heap -p PID'; name") != std::string::npos);
}
