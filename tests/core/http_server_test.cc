// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/http/server.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr std::chrono::hours no_hurry{1};
constexpr size_t large = size_t{48} << 20U;  // more than sockets buffer

// Serves "/" and "/large" until it goes.
class Running {
 public:
  explicit Running(HttpLimits limits = {})
      : server_("127.0.0.1", 0, "X-Test: yes\r\n", limits), thread_([this] {
          const auto all = std::make_shared<const std::string>(large, 'x');
          server_.serve([&](const HttpQuestion& asked) {
            if (asked.target != "/large") return text_answer(200, asked.host + asked.accept);
            return HttpAnswer{.type = "text/plain", .content = all};
          });
        }) {}
  ~Running() {
    server_.stop();
    thread_.join();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  UniqueFd sent(const std::string& text) const {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(server_.port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
    REQUIRE(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(text.size()));
    return socket;
  }

 private:
  HttpServer server_;
  std::thread thread_;
};

std::string all_of(const UniqueFd& socket) {
  std::string all, part(65536, '\0');
  while (true) {
    const ssize_t got = ::recv(socket.get(), part.data(), part.size(), 0);
    if (got <= 0) return all;
    all.append(part, 0, static_cast<size_t>(got));
  }
}

const std::string half = "GET / HTTP/1.1\r\nX: ", ask_large = "GET /large HTTP/1.1\r\n\r\n";

std::string content(const std::string& answer) {
  return answer.substr(answer.find("\r\n\r\n") + 4);
}

}  // namespace

TEST_CASE("http: a head is taken whole, and anything may be in it") {
  CHECK(end_of_head("GET / HTTP/1.1\r\nHost: a\r\n") == std::string::npos);
  CHECK(end_of_head("GET / HTTP/1.1\r\n\r\nbody") == 18);
  CHECK(end_of_head("a\n\n") == 3);
  const auto asked =
      parse_head("GET /a b?c HTTP/1.0\r\nhOST: \t a:1 \r\nAccept: x\r\naccept: y\r\n\r\n");
  REQUIRE(asked);
  CHECK(asked->method == "GET");
  CHECK(asked->target == "/a b?c");
  CHECK(asked->host == "a:1");
  CHECK(asked->accept == "x, y");
  for (const char* wrong :
       {"", "\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/2\r\n\r\n", "GET  HTTP/1.1\r\n\r\n",
        " / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "GET / HTTP/1.1\r\n: x\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"})
    CHECK_FALSE_MESSAGE(parse_head(wrong), wrong);
}

TEST_CASE("http: each answer is whole and sent once") {
  const Running server;
  const std::string plain = all_of(server.sent("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  CHECK(plain.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(plain.find("\r\nX-Test: yes\r\n") != std::string::npos);
  CHECK(content(plain) == "h");
  std::string ranges = "0-";
  for (int i = 0; i < 2000; ++i) ranges += ",0-";
  CHECK(all_of(server.sent("GET / HTTP/1.1\r\nHost: h\r\nRange: bytes=" + ranges + "\r\n\r\n")) ==
        plain);
  CHECK(content(all_of(server.sent(ask_large))).size() == large);
  const std::string no_content = all_of(server.sent("HEAD /large HTTP/1.1\r\n\r\n"));
  CHECK(no_content.find("Content-Length: " + std::to_string(large)) != std::string::npos);
  CHECK(content(no_content).empty());
  CHECK(all_of(server.sent("nonsense\r\n\r\n")).starts_with("HTTP/1.1 400"));
  CHECK(
      all_of(server.sent(half + std::string(8192 - half.size(), 'x'))).starts_with("HTTP/1.1 431"));
}

TEST_CASE("http: questions that do not end keep nobody out, and end") {
  const Running patient({.connections = 4, .head_time = no_hurry});
  std::vector<UniqueFd> halves;
  for (int i = 0; i < 20; ++i) {
    halves.push_back(patient.sent(half));
    CHECK(content(all_of(patient.sent("GET / HTTP/1.1\r\nHost: h\r\n\r\n"))) == "h");
  }
  for (int i = 0; i < 16; ++i) CHECK(all_of(halves[static_cast<size_t>(i)]).empty());
  const Running hasty({.head_time = std::chrono::milliseconds(1)});
  CHECK(all_of(hasty.sent(half)).empty());
}

TEST_CASE("http: answers under way are bounded") {
  const Running server({.answers = 2});
  std::vector<UniqueFd> readers;
  readers.reserve(6);
  for (int i = 0; i < 6; ++i) readers.push_back(server.sent(ask_large));
  CHECK(content(all_of(server.sent(ask_large))).size() == large);
  for (size_t i = 0; i < 4; ++i) CHECK(all_of(readers[i]).size() < large);
}

TEST_CASE("http: a port that is taken is an error") {
  const HttpServer first("127.0.0.1", 0, "");
  CHECK_THROWS_WITH(HttpServer("127.0.0.1", first.port(), ""), "Address already in use");
  CHECK_THROWS(HttpServer("192.0.2.1", 0, ""));
}
