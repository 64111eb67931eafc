// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/uncovered.h"

#include <doctest/doctest.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "probes/inside/exchange/agentless.h"

using namespace memflame::inside;  // NOLINT(google-build-using-namespace): tests only

namespace {

// In the mappings of a shell, as an agent's library would be.
std::string shell() { return std::filesystem::canonical("/bin/sh").string(); }

// A shell that waits for a line, and what is then written to it.
struct Child {
  std::array<int, 2> pipe{-1, -1};
  pid_t pid = -1;

  // Returns when the shell runs: until then the child is this program.
  explicit Child(const char* script) {
    std::array<int, 2> begun{-1, -1};  // closed by execl()
    REQUIRE(::pipe(pipe.data()) == 0);
    REQUIRE(::pipe2(begun.data(), O_CLOEXEC) == 0);
    pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
      ::dup2(pipe[0], 0);
      ::execl("/bin/sh", "sh", "-c", script, nullptr);
      ::_exit(1);
    }
    ::close(begun[1]);
    char nothing = 0;
    CHECK(::read(begun[0], &nothing, 1) == 0);
    ::close(begun[0]);
  }
  ~Child() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    for (const int end : pipe) ::close(end);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
};

std::string program(unsigned char elf_class) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = elf_class;
  std::string path =
      (std::filesystem::temp_directory_path() / ("memflame-program-" + std::to_string(::getpid())))
          .string();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(&header), sizeof(header));
  return path;
}

// Looks again and again, until something is found. They come at a pace of their own.
template <typename Look, typename IsDone>
void look_until(const Look& look, const IsDone& is_done) {
  for (int i = 0; i < 400 && !is_done(); ++i) {
    look();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace

TEST_CASE("why no agent can speak in a program") {
  CHECK(reason_in("/bin/sh").empty());
  CHECK(reason_in("/nowhere").empty());
  std::string path = program(ELFCLASS64);
  CHECK(reason_in(path) == "it is linked statically");
  CHECK(::chmod(path.c_str(), 04755) == 0);
  CHECK(reason_in(path) == "it is linked statically");  // the user has its rights already
  if (::geteuid() == 0) {
    CHECK(::chown(path.c_str(), 1, 0) == 0);  // which takes the bit away
    CHECK(::chmod(path.c_str(), 04755) == 0);
    CHECK(reason_in(path) == "it gains another user's rights");
    CHECK(reason_in(path, true, {.user = 1}) == "it is linked statically");
    CHECK(::chown(path.c_str(), 0, 0) == 0);
    CHECK(::chmod(path.c_str(), 04755) == 0);
    CHECK(reason_in(path, true, {.user = 1}) == "it gains another user's rights");
    CHECK(reason_in(path, true, executor_in(::getpid())) == "it is linked statically");
  }
  std::filesystem::remove(path);
  path = program(ELFCLASS32);
  CHECK(reason_in(path) == "it is a 32-bit program");
  CHECK(is_barred(path));
  CHECK_FALSE(is_barred("/bin/sh"));
  std::filesystem::remove(path);
}

TEST_CASE("a child without an agent is found by the second look, and named") {
  const Child child("read line");
  const auto nobody = [](pid_t) { return false; };
  const auto children = [](pid_t pid) { return pid != ::getpid(); };
  Uncovered known({::getpid()}, shell());
  Uncovered silent({::getpid()}, shell());
  Uncovered heard({::getpid()}, shell());
  Uncovered unknown({::getpid()}, "/no/such/agent.so");
  const auto look = [&] {
    for (Uncovered* each : {&known, &heard}) each->meet(child.pid);
    heard.look(nobody);
    known.look(children);
    silent.look(nobody);
    unknown.look(nobody);
  };
  look();
  CHECK(unknown.count() == 0);
  look_until(look, [&] { return unknown.count() != 0 && silent.count() != 0; });
  CHECK(known.count() == 0);
  CHECK(known.notes().empty());
  CHECK(silent.count() == 1);  // it has a heap, and its agent said nothing
  CHECK(heard.count() == 0);   // as a forked child that has allocated nothing
  CHECK(unknown.count() == 1);
  CHECK(unknown.notes().at(0).find(std::to_string(child.pid)) != std::string::npos);

  // An agent that came later is not in what this process runs: what was known of it is lost.
  Uncovered attached({::getpid()}, "no-such-agent");
  std::set<pid_t> lost;
  look_until(
      [&] { attached.look([](pid_t) { return true; }, [&lost](pid_t pid) { lost.insert(pid); }); },
      [&] { return lost.size() == 2; });
  CHECK(attached.count() == 2);
  CHECK(lost == std::set<pid_t>{child.pid, ::getpid()});
}

TEST_CASE("a process that runs another program, in which no agent is, is found too") {
  const Child child("read line; exec sleep 1000");
  const auto children = [](pid_t pid) { return pid != ::getpid(); };
  Uncovered uncovered({::getpid()}, shell());
  const auto look = [&] { uncovered.look(children); };
  for (int i = 0; i < 3; ++i) {
    uncovered.meet(child.pid);
    look();
    std::this_thread::sleep_for(std::chrono::milliseconds(260));
  }
  CHECK(uncovered.count() == 0);
  REQUIRE(::write(child.pipe[1], "\n", 1) == 1);
  look_until(look, [&] { return uncovered.count() != 0; });
  CHECK(uncovered.count() == 1);
  CHECK(uncovered.notes().at(0).find("sleep " + std::to_string(child.pid)) != std::string::npos);
}
