// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>

#include "core/error.h"
#include "fleet/output.h"
#include "fleet/outputs/retention.h"
#include "tests/fleet/made_window.h"

using namespace memflame;
using memflame::tests::made_window;
using memflame::tests::TestFolder;
namespace fs = std::filesystem;

namespace {

std::unique_ptr<WindowOutput> directory_output(const fs::path& folder,
                                               const std::string& more = "") {
  return make_output(Setting::read(
      R"({"kind": "directory", "folder": ")" + folder.string() + "\"" + more + "}", "watch.json"));
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), folder));
  std::sort(files.begin(), files.end());
  return files;
}

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Ends this long before now.
Window window_ago(int64_t seconds, size_t bytes = 100) {
  Window window = made_window(1, bytes);
  window.head.ended_ns = (int64_t{::time(nullptr)} - seconds) * 1'000'000'000;
  window.head.began_ns = window.head.ended_ns - 60'000'000'000;
  return window;
}

}  // namespace

TEST_CASE("a window is a profile and its head, named by time, service and id") {
  const TestFolder folder;
  const auto output = directory_output(folder.path / "out");
  const Window window = window_ago(5);
  output->send({&window, 1});
  output->send({&window, 1});  // a repeat changes nothing
  const auto ended = static_cast<time_t>(window.head.ended_ns / 1'000'000'000);
  const std::string stem =
      "checkout/" + day_text(ended) + "/" + instant_text(ended) + "-" + window.head.id;
  const std::vector<fs::path> files = files_below(folder.path / "out");
  REQUIRE(files.size() == 2);
  CHECK(files[0] == stem + ".json");
  CHECK(files[1] == stem + ".pb.gz");
  CHECK(bytes_of(folder.path / "out" / files[1]) == window.pprof);
  std::string head = bytes_of(folder.path / "out" / files[0]);
  CHECK(head_from_json(head) == window.head);
}

TEST_CASE("instants as texts") {
  CHECK(day_text(1'764'169'200) == "2025-11-26");
  CHECK(instant_text(1'764'169'200) == "20251126T150000Z");
}

TEST_CASE("hostile names of services stay in the folder") {
  const TestFolder folder;
  const auto output = directory_output(folder.path / "out");
  const std::vector<std::string> names{
      "../../evil",           "..",    ".", "/etc", "", ".hide", "a/b", std::string("a\0b", 3),
      std::string(3000, '/'), "\xff\n"};
  for (const std::string& name : names) {
    Window window = window_ago(5);
    window.head.labels["service"] = name;
    output->send({&window, 1});
  }
  Window nameless = window_ago(5);
  nameless.head.labels.clear();
  output->send({&nameless, 1});
  CHECK(files_below(folder.path / "out").size() == 2 * (names.size() + 1));
  CHECK(files_below(folder.path).size() == 2 * (names.size() + 1));
  for (const auto& entry : fs::directory_iterator(folder.path / "out"))
    CHECK(entry.path().filename().string()[0] != '.');
}

TEST_CASE("a link in the folder leads nowhere") {
  const TestFolder folder;
  fs::create_directories(folder.path / "elsewhere");
  fs::create_directories(folder.path / "out");
  fs::create_directory_symlink(folder.path / "elsewhere", folder.path / "out/checkout");
  const auto output = directory_output(folder.path / "out");
  const Window window = window_ago(5);
  CHECK_THROWS_AS(output->send({&window, 1}), Refused);
  CHECK(files_below(folder.path / "elsewhere").empty());
}

TEST_CASE("old files are removed, other people's are not") {
  const TestFolder folder;
  const fs::path out = folder.path / "out";
  {
    const auto output = directory_output(out, ", \"keep\": \"1000d\"");
    for (const int64_t days : {9, 5, 1}) {
      const Window window = window_ago(days * 86400);
      output->send({&window, 1});
    }
  }
  fs::create_directories(out / "checkout/2001-01-01");
  std::ofstream(out / "checkout/2001-01-01/notes.txt") << "mine";
  std::ofstream(out / "README") << "mine";
  CHECK(files_below(out).size() == 8);
  const auto output = directory_output(out, ", \"keep\": \"3d\"");
  const Window window = window_ago(5);
  output->send({&window, 1});
  CHECK(files_below(out).size() == 6);
  CHECK(fs::exists(out / "README"));
  CHECK(fs::exists(out / "checkout/2001-01-01/notes.txt"));
}

TEST_CASE("when files are too many bytes, the oldest are removed") {
  const TestFolder folder;
  const fs::path out = folder.path / "out";
  const auto output = directory_output(out, ", \"most\": \"100K\"");
  for (int i = 0; i < 60; ++i) {
    const Window window = window_ago(int64_t{60 - i} * 3600, 10000);
    output->send({&window, 1});
  }
  uint64_t bytes = 0;
  for (const fs::path& file : files_below(out)) bytes += fs::file_size(out / file);
  CHECK(bytes <= 112 << 10);
  CHECK(bytes >= 80 << 10);
  const std::vector<fs::path> files = files_below(out);
  const auto newest = ::time(nullptr) - 3600;
  CHECK(files.back().string().find(instant_text(newest).substr(0, 11)) != std::string::npos);
}

TEST_CASE("settings of a directory") {
  CHECK_THROWS_AS(directory_output("relative"), Error);
  CHECK_THROWS_AS(directory_output("/x", ", \"kept\": 1"), Error);
  CHECK_THROWS_AS(make_output(Setting::read(R"({"kind": "directory"})", "x")), Error);
}
