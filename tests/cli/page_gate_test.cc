// SPDX-License-Identifier: BSD-2-Clause
#include "cli/page/page_gate.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr uint16_t port = 8123;
const std::string token = "0123456789abcdef0123456789abcdef";

PageAnswer asked(const std::string& target, const std::string& host = "127.0.0.1:8123",
                 const std::string& method = "GET") {
  return answer_to({method, host, target}, token, port);
}

}  // namespace

TEST_CASE("page gate: the exact address has the page and its state") {
  CHECK(asked("/" + token + "/") == PageAnswer::page);
  CHECK(asked("/" + token + "/state") == PageAnswer::state);
  CHECK(asked("/" + token + "/", "localhost:8123") == PageAnswer::page);
}

TEST_CASE("page gate: everything else is not there") {
  for (const std::string& target :
       {std::string(), std::string("/"), "/" + token, token + "/", "//" + token + "/",
        "/" + token + "/other", "/" + token + "/?", "/" + token + "0/", "/" + token.substr(1) + "/",
        "/" + token.substr(1) + "0/state"}) {
    CAPTURE(target);
    CHECK(asked(target) == PageAnswer::not_found);
  }
  for (size_t i = 0; i < token.size(); ++i) {
    std::string wrong = token;
    wrong[i] ^= 1;
    CHECK(asked("/" + wrong + "/") == PageAnswer::not_found);
  }
}

TEST_CASE("page gate: names of other hosts are refused, whatever the token is") {
  for (const std::string host :
       {"", "evil.example", "evil.example:8123", "127.0.0.1", "127.0.0.1:80", "localhost",
        "127.0.0.1:8123.evil.example", "127.0.0.2:8123", "[::1]:8123"}) {
    CAPTURE(host);
    CHECK(asked("/" + token + "/", host) == PageAnswer::wrong_host);
    CHECK(asked("/", host) == PageAnswer::wrong_host);
  }
  // Browsers leave this port out.
  CHECK(answer_to({"GET", "127.0.0.1", "/" + token + "/"}, token, 80) == PageAnswer::page);
}

TEST_CASE("page gate: methods are told to those who have the token only") {
  for (const std::string method : {"POST", "HEAD", "PUT", "DELETE", "OPTIONS", "get", ""}) {
    CAPTURE(method);
    CHECK(asked("/" + token + "/", "127.0.0.1:8123", method) == PageAnswer::wrong_method);
    CHECK(asked("/x/", "127.0.0.1:8123", method) == PageAnswer::not_found);
  }
}

TEST_CASE("page gate: tokens are long, and never the same") {
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) tokens.insert(new_token());
  CHECK(tokens.size() == 100);
  for (const std::string& one : tokens) {
    CHECK(one.size() == 32);
    CHECK(one.find_first_not_of("0123456789abcdef") == std::string::npos);
  }
}
