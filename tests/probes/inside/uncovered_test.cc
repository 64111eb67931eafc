// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/uncovered.h"

#include <doctest/doctest.h>
#include <elf.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

using namespace memflame::inside;  // NOLINT(google-build-using-namespace): tests only

namespace {

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
  Uncovered known(::getpid(), "/no/such/agent.so");
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
