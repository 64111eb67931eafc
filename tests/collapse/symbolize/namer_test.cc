// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/namer.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <map>
#include <new>

#include "core/error.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

// Each group has one location, of the same number, and is named by `name`.
struct Result {
  std::map<size_t, std::vector<Names>> taken;
  std::map<size_t, std::string> given_up;
};

using NameGroup = std::function<void(size_t, FileSource&, const std::function<void(Names)>&)>;

Result run(size_t groups, const NameGroup& name,
           const std::function<OpenedFile(size_t, const FileRequest&)>& open = {},
           NamingWork work = {}) {
  Result result;
  work.groups = work.locations = groups;
  work.name = name;
  work.open = open;
  work.take = [&](size_t group, Names names) {
    for (const auto& [location, symbols] : names.locations)
      if (location.index != group) throw Error("not asked for");
    result.taken[group].push_back(std::move(names));
  };
  work.give_up = [&](size_t group, const std::string& why) { result.given_up[group] = why; };
  name_apart(work);
  return result;
}

Names names_of(size_t group, const std::string& function) {
  Names names;
  names.locations.push_back({LocationId{static_cast<uint32_t>(group)},
                             {{.function = function, .file = "a.cc", .line = 7, .module = {}}}});
  names.unknown = 3;
  names.notes = {"a note"};
  return names;
}

}  // namespace

TEST_CASE("names come back as they were sent") {
  const Result result = run(3, [](size_t group, FileSource&, const auto& tell) {
    tell(names_of(group, "f" + std::to_string(group)));
  });
  CHECK(result.given_up.empty());
  REQUIRE(result.taken.size() == 3);
  const Names& names = result.taken.at(2).at(0);
  CHECK(names.unknown == 3);
  CHECK(names.notes == std::vector<std::string>{"a note"});
  const Symbol& symbol = names.locations.at(0).second.at(0);
  CHECK(symbol.function == "f2");
  CHECK(symbol.file == "a.cc");
  CHECK(symbol.line == 7);
}

TEST_CASE("a group that ends the process costs its own names only") {
  const Result result = run(5, [](size_t group, FileSource&, const auto& tell) {
    if (group == 1) ::raise(SIGKILL);
    if (group == 3) throw std::bad_alloc();
    tell(names_of(group, "f"));
  });
  CHECK(result.taken.size() == 3);
  REQUIRE(result.given_up.size() == 2);
  CHECK(result.given_up.at(1) == "the process that reads names ended by SIGKILL");
  CHECK(result.given_up.at(3) == "the process that reads names ran out of memory");
}

TEST_CASE("a group that ends the process is tried again if less can be asked of it") {
  std::map<size_t, std::string> simplified;
  NamingWork work;
  work.simplify = [&](size_t group, const std::string& why) {
    return group != 3 && simplified.emplace(group, why).second;
  };
  const auto name = [&](size_t group, FileSource&, const auto& tell) {
    if (group == 3 || group == 4 || !simplified.contains(group)) ::raise(SIGKILL);
    tell(names_of(group, "f"));
  };
  const Result result = run(5, name, {}, work);
  CHECK(result.taken.size() == 3);
  CHECK(simplified.size() == 4);  // the fourth in vain
  CHECK(simplified.at(0) == "the process that reads names ended by SIGKILL");
  CHECK(result.given_up.size() == 2);
  CHECK(result.given_up.contains(3));
  CHECK(result.given_up.contains(4));
}

TEST_CASE("a process that takes more memory than it may is ended") {
  NamingWork work;
  work.used_bytes = uint64_t{32} << 20;
  const auto name = [](size_t group, FileSource&, const auto& tell) {
    const std::string taken(size_t{group == 1 ? 128U : 8U} << 20, 'x');
    if (group == 1) ::pause();  // nobody but memflame ends it
    tell(names_of(group, taken.substr(0, 1)));
  };
  const Result result = run(3, name, {}, work);
  CHECK(result.taken.size() == 2);
  REQUIRE(result.given_up.contains(1));
  CHECK(result.given_up.at(1) == "the process that reads names took more than 32.0 MiB of memory");
}

TEST_CASE("what was named before the process ended stays") {
  const Result result = run(1, [](size_t group, FileSource&, const auto& tell) {
    tell(names_of(group, "f"));
    ::raise(SIGKILL);
  });
  CHECK(result.taken.size() == 1);
  CHECK(result.given_up.size() == 1);
}

TEST_CASE("large answers come in parts") {
  const Result result = run(1, [](size_t group, FileSource&, const auto& tell) {
    Names names = names_of(group, std::string(600000, 'x'));
    for (int i = 0; i < 9; ++i) names.locations.push_back(names.locations[0]);
    tell(std::move(names));
  });
  REQUIRE(result.taken.size() == 1);
  CHECK(result.taken.at(0).size() > 1);
  size_t count = 0;
  uint64_t unknown = 0;
  for (const Names& part : result.taken.at(0)) {
    count += part.locations.size();
    unknown += part.unknown;
  }
  CHECK(count == 10);
  CHECK(unknown == 3);
}

TEST_CASE("answers that cannot be true are not believed") {
  const auto send = [](const std::string& bytes) {
    return run(2, [bytes](size_t group, FileSource&, const auto& tell) {
      if (group == 0 && ::send(0, bytes.data(), bytes.size(), 0) < 0) return;
      tell(names_of(group, "f"));
    });
  };
  const auto message = [](uint32_t type, uint32_t size, const std::string& payload) {
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &type, 4);
    std::memcpy(bytes.data() + 4, &size, 4);
    return bytes + payload;
  };
  constexpr uint32_t names = 2;
  for (const std::string& bytes :
       {message(77, 0, ""), message(names, UINT32_MAX, ""), message(names, 1, "x"),
        message(names, 12, std::string(8, '\0') + "\xff\xff\xff\xff"),
        // A location that is not of this group, with no symbols.
        message(names, 20, std::string(12, '\0') + std::string("\x09\0\0\0\0\0\0\0", 8))}) {
    const Result result = send(bytes);
    CHECK(result.given_up.size() == 1);
    CHECK(result.given_up.contains(0));
    CHECK(result.taken.contains(1));
  }
}

TEST_CASE("files are opened by the process that asked for names") {
  const auto name = [](size_t group, FileSource& files, const auto& tell) {
    const OpenedFile none = files.open({FileRequest::Kind::link, "x", 0});
    const OpenedFile opened = files.open({FileRequest::Kind::build_id, "abcd", 5});
    char text[5] = {};
    if (none.found != Found::no_place || ::pread(opened.file.get(), text, 4, 0) != 4) return;
    tell(names_of(group, text));
  };
  const Result result = run(1, name, [](size_t, const FileRequest& request) -> OpenedFile {
    if (request.kind != FileRequest::Kind::build_id) return {};
    CHECK(request.text == "abcd");
    CHECK(request.place == 5);
    const SharedFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    return {Found::file, file};
  });
  REQUIRE(result.taken.size() == 1);
  CHECK(result.taken.at(0).at(0).locations.at(0).second.at(0).function ==
        "\x7f"
        "ELF");
}

TEST_CASE("files are ELF files of the module, and none other") {
  Module module;
  module.path = "/etc/program";
  DebuginfodBudget budget;
  OwnFiles files(module, budget);
  using Kind = FileRequest::Kind;
  CHECK(files.open({Kind::link, "hostname", 0}).found == Found::not_elf);
  CHECK(files.open({Kind::link, "hostname", 1}).found == Found::nothing);
  CHECK(files.open({Kind::link, "../bin/sh", 0}).found == Found::no_place);
  CHECK(files.open({Kind::link, "", 0}).found == Found::no_place);
  CHECK(files.open({Kind::link, "hostname", 1000}).found == Found::no_place);
  CHECK(files.open({Kind::build_id, "../../../../../bin/sh", 0}).found == Found::no_place);
  CHECK(files.open({Kind::server, "ABCDEF", 0}).found == Found::no_place);
  module.path = "/bin/sh";
  CHECK(files.open({}).found == Found::file);
  module.path = "/etc/hostname";
  CHECK(files.open({}).found == Found::not_elf);
}
