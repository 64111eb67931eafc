// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/output.h"

#include <doctest/doctest.h>

#include "core/error.h"

using namespace memflame;

namespace {

HttpAccess access_of(const std::string& text) {
  return http_access(Setting::read(text, "watch.json"));
}

std::string why_not(const std::string& text) {
  try {
    access_of(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("an unknown kind of output lists the kinds") {
  try {
    make_output(Setting::read("{\"kind\": \"printer\"}", "watch.json"));
    FAIL("no error");
  } catch (const Error& error) {
    const std::string what = error.what();
    CHECK(what.find("there is no kind of output 'printer': the kinds are ") != std::string::npos);
    CHECK(what.find("directory") != std::string::npos);
    CHECK(what.find("watch.json:1") != std::string::npos);
  }
}

TEST_CASE("each kind has a name and help") {
  for (const OutputKind& kind : output_kinds()) {
    CHECK(!kind.name.empty());
    CHECK(!kind.help.empty());
  }
}

TEST_CASE("how to reach a store") {
  const HttpAccess access = access_of(
      R"({"url": "https://store:4040/", "token_file": "/run/token", "ca_file": "/etc/ca.pem",
          "proxy": "http://proxy:3128", "headers": ["X-Scope-OrgID: team"]})");
  CHECK(access.token_file == "/run/token");
  CHECK(access.ca_file == "/etc/ca.pem");
  CHECK(access.headers == std::vector<std::string>{"X-Scope-OrgID: team"});
  CHECK(http_url(Setting::read(R"({"url": "https://store:4040/a//"})", "x")) ==
        "https://store:4040/a");
}

TEST_CASE("secrets do not go over the network without TLS") {
  CHECK(why_not(R"({"url": "http://store:1", "token_file": "/t"})").find("write https://") !=
        std::string::npos);
  CHECK(why_not(R"({"url": "http://store:1", "headers": "X-Api-Key: 1"})") != "");
  CHECK(why_not(R"({"url": "http://127.evil.example:1", "token_file": "/t"})") != "");
  CHECK(why_not(R"({"url": "http://store:1", "headers": "X-Scope-OrgID: 1"})") == "");
  CHECK(why_not(R"({"url": "http://store:1", "token_file": "/t", "plain": true})") == "");
  CHECK(why_not(R"({"url": "http://127.0.0.1:1/x", "token_file": "/t"})") == "");
  CHECK(why_not(R"({"url": "http://localhost", "user": "a", "password_file": "/t"})") == "");
  CHECK(why_not(R"({"url": "http://[::1]:80", "token_file": "/t"})") == "");
}

TEST_CASE("settings that do not fit are refused with their line") {
  for (const char* const text :
       {R"({"url": "store:1"})", R"({"url": "ftp://store"})", R"({"url": "https://"})",
        R"({"url": "https://a:b@store"})", R"({"url": "https://store?x=1"})", R"({})",
        R"({"url": "https://s", "token_file": "/t", "user": "a"})",
        R"({"url": "https://s", "password_file": "/t"})",
        R"({"url": "https://s", "key_file": "/t"})", R"({"url": "https://s", "headers": "x"})",
        R"({"url": "https://s", "headers": ["a b: c"]})",
        R"({"url": "https://s", "headers": ["a: b\r\nc: d"]})"}) {
    INFO(text);
    CHECK(why_not(text).find("watch.json:1") == 0);
  }
}
