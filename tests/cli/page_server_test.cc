// SPDX-License-Identifier: BSD-2-Clause
#include "cli/page/page_server.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/unique_fd.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

using std::chrono::milliseconds;

uint16_t port_of(const PageServer& server) {
  const std::string& address = server.address();
  return static_cast<uint16_t>(std::stoi(address.substr(std::string("http://127.0.0.1:").size())));
}

std::string path_of(const PageServer& server) {
  return server.address().substr(server.address().find('/', std::string("http://").size()));
}

// clang-tidy takes such a length in a constructor for a mistake.
std::string page_of(size_t bytes) {
  std::string page;
  page.resize(bytes, 'x');
  return page;
}

UniqueFd connected(uint16_t port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::connect(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
  return socket;
}

void send_text(const UniqueFd& socket, const std::string& text) {
  REQUIRE(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(text.size()));
}

// All of an answer.
std::string answer(uint16_t port, const std::string& request) {
  const UniqueFd socket = connected(port);
  send_text(socket, request);
  std::string all;
  std::string part(65536, '\0');
  while (true) {
    const ssize_t got = ::recv(socket.get(), part.data(), part.size(), 0);
    if (got <= 0) return all;
    all.append(part, 0, static_cast<size_t>(got));
  }
}

std::string get(const PageServer& server, const std::string& path) {
  const uint16_t port = port_of(server);
  return answer(
      port, "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) + "\r\n\r\n");
}

std::string body(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }

}  // namespace

TEST_CASE("page server: shows the newest page and its state, and tells that somebody asks") {
  PageServer server(0);
  CHECK_FALSE(server.is_asked(milliseconds(0)));
  server.show("{\"version\":1}", "<p>one</p>");
  const std::string path = path_of(server);
  CHECK(body(get(server, path)) == "<p>one</p>");
  CHECK(server.is_asked(milliseconds(1000)));
  CHECK_FALSE(server.is_asked(milliseconds(0)));
  CHECK(body(get(server, path + "state")) == "{\"version\":1}");
  const std::string large = page_of(20'000'000);
  server.show("{\"version\":2}", large);
  // A page that is sent is not yet taken.
  for (int i = 0; i < 200 && body(get(server, path + "state")) != "{\"version\":2}"; ++i) {
  }
  const std::string page = get(server, path);
  CHECK(body(page) == large);
  CHECK(page.starts_with("HTTP/1.1 200"));
  for (const char* header :
       {"Cache-Control: no-store", "Referrer-Policy: no-referrer", "X-Frame-Options: DENY",
        "X-Content-Type-Options: nosniff", "Cross-Origin-Resource-Policy: same-origin"})
    CHECK_MESSAGE(page.find(header) != std::string::npos, header);
}

TEST_CASE("page server: refuses what is not its own") {
  PageServer server(0);
  server.show("{}", "");
  const std::string path = path_of(server), port = std::to_string(port_of(server));
  CHECK(get(server, "/").starts_with("HTTP/1.1 404"));
  CHECK(get(server, "/favicon.ico").starts_with("HTTP/1.1 404"));
  const auto with = [&](const std::string& method, const std::string& headers) {
    return answer(port_of(server), method + " " + path + " HTTP/1.1\r\n" + headers + "\r\n");
  };
  const std::string own = "Host: localhost:" + port + "\r\n";
  CHECK(with("GET", own).starts_with("HTTP/1.1 200"));
  CHECK(with("POST", own + "Content-Length: 3\r\n").starts_with("HTTP/1.1 405"));
  CHECK(with("HEAD", own).starts_with("HTTP/1.1 405"));
  CHECK(with("GET", "Host: evil.example:" + port + "\r\n").starts_with("HTTP/1.1 403"));
  CHECK(with("GET", "").starts_with("HTTP/1.1 403"));
  CHECK(with("GET", own + own).starts_with("HTTP/1.1 400"));
}

TEST_CASE("page server: clients that stall hold up nothing") {
  std::optional<PageServer> server(std::in_place, 0);
  server->show("{}", page_of(10'000'000));
  std::vector<UniqueFd> stalled;
  for (int i = 0; i < 4; ++i) {
    stalled.push_back(connected(port_of(*server)));
    send_text(stalled.back(), "GET " + path_of(*server) + " HTTP/1.1\r\nHost: 127.0.0.1:" +
                                  std::to_string(port_of(*server)) + "\r\n" +
                                  (i % 2 == 0 ? "\r\n" : ""));  // others never finish asking
  }
  const auto begin = std::chrono::steady_clock::now();
  server->show("{}", "<p>new</p>");
  for (int i = 0; i < 200 && body(get(*server, path_of(*server))) != "<p>new</p>"; ++i) {
  }
  CHECK(body(get(*server, path_of(*server))) == "<p>new</p>");
  server.reset();
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(4));
}

TEST_CASE("page server: a port that is taken is an error, and says what to do") {
  const PageServer first(0);
  std::string said;
  try {
    const PageServer second(port_of(first));
  } catch (const Error& error) {
    said = error.what();
  }
  CHECK(said.find("Address already in use") != std::string::npos);
  CHECK(said.find("--port") != std::string::npos);
}
