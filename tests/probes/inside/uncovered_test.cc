// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/uncovered.h"

#include <doctest/doctest.h>
#include <elf.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

using namespace memflame::inside;  // NOLINT(google-build-using-namespace): tests only

namespace {

// In the mappings of this process and its children, as an agent's library would be.
std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

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

}  // namespace

TEST_CASE("why no agent can speak in a program") {
  CHECK(reason_in("/proc/self/exe").empty());
  CHECK(reason_in("/nowhere").empty());
  std::string path = program(ELFCLASS64);
  CHECK(reason_in(path) == "it is linked statically");
  CHECK(::chmod(path.c_str(), 04755) == 0);
  CHECK(reason_in(path) == "it gains another user's rights");
  std::filesystem::remove(path);
  path = program(ELFCLASS32);
  CHECK(reason_in(path) == "it is a 32-bit program");
  std::filesystem::remove(path);
}

TEST_CASE("a child without an agent is found by the second look, and named") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const auto nobody = [](pid_t) { return false; };
  const auto everybody = [](pid_t) { return true; };
  Uncovered known(::getpid(), own_program());
  Uncovered unknown(::getpid(), "/no/such/agent.so");
  for (int i = 0; i < 2; ++i) {
    CHECK(unknown.count() == 0);
    known.look(everybody);
    unknown.look(nobody);
    std::this_thread::sleep_for(std::chrono::milliseconds(260));
  }
  CHECK(known.count() == 0);
  CHECK(known.note().empty());
  CHECK(unknown.count() == 1);
  CHECK(unknown.note().find(std::to_string(child)) != std::string::npos);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_CASE("a process that runs another program, in which no agent is, is found too") {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    char word = 0;
    [[maybe_unused]] const ssize_t got = ::read(pipe[0], &word, 1);
    ::execl("/bin/sleep", "sleep", "1000", nullptr);
    ::_exit(1);
  }
  const auto everybody = [](pid_t) { return true; };
  Uncovered uncovered(::getpid(), own_program());
  const auto look = [&] {
    uncovered.look(everybody);
    std::this_thread::sleep_for(std::chrono::milliseconds(260));
  };
  for (int i = 0; i < 3; ++i) look();
  CHECK(uncovered.count() == 0);
  REQUIRE(::write(pipe[1], "x", 1) == 1);
  for (int i = 0; i < 20 && uncovered.count() == 0; ++i) look();
  CHECK(uncovered.count() == 1);
  CHECK(uncovered.note().find("sleep " + std::to_string(child)) != std::string::npos);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(pipe[0]);
  ::close(pipe[1]);
}
