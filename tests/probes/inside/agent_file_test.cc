// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/exchange/agent_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/error.h"

using namespace memflame;          // NOLINT(google-build-using-namespace): tests only
using namespace memflame::inside;  // NOLINT(google-build-using-namespace)

namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "memflame-agent-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string in(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::span<const std::byte> image(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

unsigned mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

}  // namespace

TEST_CASE("the agent's file is written once, readable for all, and writable for its owner") {
  const Folder folder;
  const std::string text = "an image";
  const std::string path = agent_file_in(folder.in("a/b"), image(text));
  CHECK(path.starts_with(folder.in("a/b/inside-")));
  CHECK(contents(path) == text);
  CHECK(mode_of(path) == 0644);
  const fs::file_time_type written = fs::last_write_time(path);
  CHECK(agent_file_in(folder.in("a/b"), image(text)) == path);
  CHECK(fs::last_write_time(path) == written);
  const std::string other = "another image";
  CHECK(agent_file_in(folder.in("a/b"), image(other)) != path);
}

TEST_CASE("a file that is not as memflame has written it is replaced") {
  const Folder folder;
  const std::string text = "an image";
  const std::string path = agent_file_in(folder.in("a"), image(text));
  std::ofstream(path) << "an omage";
  CHECK(contents(agent_file_in(folder.in("a"), image(text))) == text);
  fs::permissions(path, fs::perms(0666));
  agent_file_in(folder.in("a"), image(text));
  CHECK(mode_of(path) == 0644);
  fs::remove(path);
  fs::create_symlink(folder.in("elsewhere"), path);
  std::ofstream(folder.in("elsewhere")) << text;
  agent_file_in(folder.in("a"), image(text));
  CHECK(!fs::is_symlink(path));
}

TEST_CASE("a folder that others can write is not trusted") {
  const Folder folder;
  fs::create_directory(folder.in("a"));
  fs::permissions(folder.in("a"), fs::perms(0777));
  const std::string text = "an image";
  CHECK_THROWS_AS(agent_file_in(folder.in("a"), image(text)), Error);
  fs::create_directory_symlink(folder.in("a"), folder.in("link"));
  CHECK_THROWS_AS(agent_file_in(folder.in("link"), image(text)), Error);
  CHECK_THROWS_AS(agent_file_in(folder.in("with space"), image(text)), Error);
}

TEST_CASE(
    "another folder is taken if the first cannot be used, and the first is named if none can") {
  const Folder folder;
  const std::string text = "an image", bad = folder.in("open");
  fs::create_directory(bad);
  fs::permissions(bad, fs::perms(0777));
  const std::vector<std::string> folders{bad, folder.in("spare")};
  CHECK(agent_file_in_first(folders, image(text)).starts_with(folder.in("spare/inside-")));
  fs::permissions(folder.in("spare"), fs::perms(0777));
  CHECK_THROWS_WITH_AS(agent_file_in_first(folders, image(text)), doctest::Contains(bad.c_str()),
                       Error);
}

TEST_CASE("the agent is loaded before what is preloaded already") {
  ::unsetenv("LD_PRELOAD");
  CHECK(preload_variable("/a.so") == "LD_PRELOAD=/a.so");
  ::setenv("LD_PRELOAD", "libm.so.6", 1);
  CHECK(preload_variable("/a.so") == "LD_PRELOAD=/a.so:libm.so.6");
  ::unsetenv("LD_PRELOAD");
}
