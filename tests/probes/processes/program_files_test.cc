// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/program_files.h"

#include <doctest/doctest.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "tests/support/skipped.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("the libraries of a program, of a script, and of what is neither") {
  const auto has_libc = [](const std::vector<std::string>& files) {
    return std::any_of(files.begin(), files.end(), [](const std::string& file) {
      return file.find("/libc.so") != std::string::npos;
    });
  };
  CHECK(has_libc(libraries_of("/bin/sh")));
  CHECK_FALSE(has_libc(libraries_of("/etc/hostname")));
  CHECK_FALSE(has_libc(libraries_of("/no/such/file")));
}

TEST_CASE("the loader that a program names runs as the program's user") {
  if (::geteuid() != 0) return skip("only root can become another user");
  // Anybody's program may name any file; only the file's name has to be that of a loader.
  const std::string name = "/tmp/ld-linux-" + std::to_string(::getpid());
  const std::string standard = "/lib64/ld-linux-x86-64.so.2";
  REQUIRE(name.size() < standard.size());
  std::ifstream file("/bin/sh", std::ios::binary);
  std::string program{std::istreambuf_iterator<char>(file), {}};
  const size_t at = program.find(standard);
  REQUIRE(at != std::string::npos);
  program.replace(at, standard.size(), name + std::string(standard.size() - name.size(), '\0'));
  const std::string copy = name + ".sh";
  std::ofstream(copy, std::ios::binary) << program;
  std::ofstream(name) << "#!/bin/sh\necho \"x => /uid/$(id -u) (0x0)\"\n";
  REQUIRE(::chmod(name.c_str(), 0755) == 0);
  REQUIRE(::chmod(copy.c_str(), 0755) == 0);
  const std::vector<std::string> as_nobody = libraries_of(copy, "", "nobody");
  CHECK(as_nobody.back() == "/uid/" + std::to_string(::getpwnam("nobody")->pw_uid));
  CHECK(libraries_of(copy).back() == "/uid/0");
  ::unlink(name.c_str());
  ::unlink(copy.c_str());
}

TEST_CASE("which words of a command run as programs") {
  const auto names = [](const std::vector<std::string>& argv) {
    std::string text;
    for (const std::string& program : programs_of(argv))
      text += (text.empty() ? "" : " ") + program.substr(program.rfind('/') + 1);
    return text;
  };
  CHECK(names({"sort", "-u"}) == "sort");
  CHECK(names({"env", "A=1", "timeout", "5", "sort"}) == "env timeout sort");
  CHECK(names({"/bin/sh", "-c", "exec sort", "sh", "sort"}) == "sh sh sort");
  // Its argument is data, whatever kind of file it is.
  CHECK(names({"cat", "/bin/sh"}) == "cat");
  CHECK(names({"timeout", "5", "cat", "/bin/sh"}) == "timeout cat");
}
