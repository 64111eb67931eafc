// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "render/output.h"
#include "render/picture/assets.h"
#include "render/picture/packed.h"
#include "tests/render/small_profile.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::string html(const Profile& p, const RenderOptions& options = {}) {
  std::ostringstream out;
  write_html(out, p, options);
  return out.str();
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const size_t from = text.find(begin);
  REQUIRE(from != std::string::npos);
  const size_t to = text.find(end, from + begin.size());
  REQUIRE(to != std::string::npos);
  return text.substr(from + begin.size(), to - from - begin.size());
}

// A hash as in content security policies, computed by another program.
std::string sha256(const std::string& text) {
  std::string path = std::filesystem::temp_directory_path() / "memflame-html-XXXXXX";
  const int file = mkstemp(path.data());
  REQUIRE(file >= 0);
  close(file);
  std::ofstream(path, std::ios::binary) << text;
  std::array<char, 64> digits{};
  FILE* program = popen(("sha256sum " + path).c_str(), "r");  // NOLINT: our own name
  REQUIRE(program != nullptr);
  CHECK(std::fread(digits.data(), 1, digits.size(), program) == digits.size());
  pclose(program);
  std::remove(path.c_str());
  std::string hash;
  for (size_t i = 0; i < digits.size(); i += 2)
    hash += static_cast<char>(std::stoi(std::string(&digits[i], 2), nullptr, 16));
  return "'sha256-" + base64(hash) + "'";
}

// Invariants of every page: each part occurs once, and nothing fetches or runs anything else.
void check_page(const std::string& page) {
  CHECK(
      page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"));
  CHECK(page.ends_with("</html>\n"));
  for (const char* once : {"<title>", "</title>", "<style>", "</style>", "<h1>", "</h1>", "<body ",
                           "</body>", "class=\"mf-about\">", "class=\"mf-data\">", "<script>",
                           "<noscript>", "<meta name=\"generator\" content=\"memflame\">"})
    CHECK_MESSAGE(count(page, once) == 1, once);
  CHECK(count(page, "<script") == 3);
  CHECK(count(page, "</script") == 3);
  CHECK(count(page, "<!--") == 0);
  for (const char* never : {" src=", " href=", " onload=", " onclick=", " style=\"", "javascript:"})
    CHECK_MESSAGE(count(page.substr(0, page.find("<script>")), never) == 0, never);
}

}  // namespace

TEST_CASE("a page and its policy") {
  Profile p = bytes();
  add(p, {"main", "f"}, 4096);
  const std::string page = html(p);
  check_page(page);
  CHECK(page.find("<title>Flame graph of live bytes</title>") != std::string::npos);
  const std::string policy = between(page, "Content-Security-Policy\" content=\"", "\">");
  CHECK(policy == page_policy());
  CHECK(policy == "default-src 'none'; script-src " +
                      sha256(between(page, "\n<script>", "</script>")) + "; style-src " +
                      sha256(between(page, "<style>", "</style>")));
}

TEST_CASE("names, titles and notes never become markup") {
  const std::string_view evil =
      "</script><!--<script>alert(1)</script>]]>\"'&<img/src=x onerror=1>\x01\xff";
  Profile p = bytes();
  p.types[0].name = evil;
  p.add(p.push(p.push({}, evil, FrameKind::process, evil), evil), std::array<int64_t, 1>{1});
  p.meta = {.title = std::string(evil),
            .command = std::string(evil),
            .host = std::string(evil),
            .sampling = std::string(evil),
            .reconciliation = {{std::string(evil), 1, 2}},
            .notes = {std::string(evil)}};
  const std::string page = html(p);
  check_page(page);
  CHECK(count(page, "<img") == 0);
  CHECK(count(page, "alert(1)</") == 0);
  CHECK(page.find('\x01') == std::string::npos);
  CHECK(page.find('\xff') == std::string::npos);
  check_page(html(p, {.title = std::string(evil)}));
}

TEST_CASE("nothing captured, and only what was given back") {
  Profile p = bytes();
  check_page(html(p));
  CHECK(count(html(p), "nothing was captured") == 1);
  add(p, {"main"}, -7);
  check_page(html(p));
}

TEST_CASE("large figures are whole in the text too") {
  Profile p = bytes();
  add(p, {"main"}, INT64_MAX - 1);
  add(p, {"main", "f"}, 1);
  const std::string page = html(p);
  check_page(page);
  CHECK(page.find("9,223,372,036,854,775,807 B") != std::string::npos);
}

TEST_CASE("a flame chart says that it is one") {
  Profile p = bytes();
  p.keep_order();
  add(p, {"a", "b"}, 1);
  const std::string page = html(p, {.order = Neighbours::by_time});
  check_page(page);
  CHECK(between(page, "class=\"mf-about\">", "<").find("\"order\":\"time\"") != std::string::npos);
}

TEST_CASE("the same page each time, twelve bytes a frame") {
  Profile p = bytes();
  uint64_t state = 1;
  const auto random = [&](uint64_t limit) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33U) % limit;
  };
  for (int i = 0; i < 40000; ++i) {
    StackId top;
    for (int depth = 0; depth < 8; ++depth)
      top = p.push(top, "function_" + std::to_string(random(depth < 5 ? 6 : 2000)));
    p.add(top, std::array{static_cast<int64_t>(1 + random(1000000))});
  }
  const std::string page = html(p);
  CHECK(page == html(p));
  const size_t fixed = html(bytes()).size();
  CHECK((page.size() - fixed) / p.stacks.size() < 12);
}
