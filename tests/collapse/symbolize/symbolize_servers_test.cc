// SPDX-License-Identifier: BSD-2-Clause
// Debug servers (DEBUGINFOD_URLS): one answers, one never does, one lies. Versions of libdw read
// the variable at different times, so ctest sets it before this program starts.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "tests/collapse/symbolize/symbolize_fixture.h"
#include "tests/support/skipped.h"

using namespace memflame;           // NOLINT(google-build-using-namespace): tests only
using namespace memflame::fixture;  // NOLINT(google-build-using-namespace)
namespace fs = std::filesystem;

namespace {

const std::string files = SYMBOLS "/";

// Listens on a port of 127.0.0.1; gives every client the same answer, or none at all.
class Server {
 public:
  explicit Server(std::string body) : body_(std::move(body)) {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(socket_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(socket_, 8) == 0);
    REQUIRE(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    const std::string url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    cache_ = fs::temp_directory_path() / ("memflame-cache-" + std::to_string(::getpid()));
    fs::create_directories(cache_);
    ::setenv("DEBUGINFOD_URLS", url.c_str(), 1);
    ::setenv("DEBUGINFOD_CACHE_PATH", cache_.c_str(), 1);
    thread_ = std::thread([this] { serve(); });
  }
  ~Server() {
    stop_ = true;
    thread_.join();
    ::close(socket_);
    fs::remove_all(cache_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int requests() const { return requests_; }

 private:
  void serve() {
    std::vector<int> clients;
    while (!stop_) {
      pollfd waiting{socket_, POLLIN, 0};
      if (::poll(&waiting, 1, 20) <= 0) continue;
      const int client = ::accept(socket_, nullptr, nullptr);
      clients.push_back(client);
      ++requests_;
      if (body_.empty()) continue;  // holds the line and says nothing
      char request[4096];
      if (::recv(client, request, sizeof request, 0) <= 0) continue;
      const std::string answer =
          "HTTP/1.0 200 OK\r\nContent-Length: " + std::to_string(body_.size()) + "\r\n\r\n" + body_;
      ::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
      ::shutdown(client, SHUT_WR);
    }
    for (const int client : clients) ::close(client);
  }

  std::string body_;
  int socket_ = -1;
  std::atomic<bool> stop_ = false;
  std::atomic<int> requests_ = 0;
  fs::path cache_;
  std::thread thread_;
};

bool can_ask() {
  if (std::getenv("DEBUGINFOD_URLS") != nullptr &&
      ::dlopen("libdebuginfod.so.1", RTLD_NOW) != nullptr)
    return true;
  skip("libdebuginfod is not there, or DEBUGINFOD_URLS was not set at the start");
  return false;
}

std::vector<Symbol> name_hold(Recording& recording, const SymbolSources& sources = {}) {
  const Run ran = run(files + "stripped");
  recording = record(ran.maps);
  return name(recording, {ran.at.at("hold"), true}, sources);
}

}  // namespace

TEST_CASE("debug data comes from a server") {
  if (!can_ask()) return;
  const Server server(read_file(files + "stripped.debug"));
  Recording recording;
  CHECK(name_hold(recording, {.debug_servers = false})[0].kind == FrameKind::unknown);
  CHECK(server.requests() == 0);
  CHECK(name_hold(recording).size() == 3);
  CHECK(server.requests() == 1);
}

TEST_CASE("a server that never answers does not hold up the run") {
  if (!can_ask()) return;
  ::setenv("DEBUGINFOD_TIMEOUT", "1", 1);
  const Server server("");
  Recording recording;
  const auto start = std::chrono::steady_clock::now();
  CHECK(name_hold(recording)[0].kind == FrameKind::unknown);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(60));  // elfutils waits 90
  CHECK(server.requests() == 1);
}

TEST_CASE("a server that sends something else is not believed") {
  if (!can_ask()) return;
  const Server server(read_file(files + "dwarf4"));
  Recording recording;
  CHECK(name_hold(recording)[0].kind == FrameKind::unknown);
  CHECK(server.requests() == 1);
}

TEST_CASE("a program that is not on this machine comes from a server, by its build id") {
  if (!can_ask()) return;
  const Server server(read_file(files + "dwarf4"));
  const Run ran = run(files + "dwarf4");
  const auto named = [&](const SymbolSources& sources) {
    Recording recording = record(ran.maps);
    Module& module = recording.modules[find_module(recording, files + "dwarf4").index];
    REQUIRE_FALSE(module.build_id.empty());
    module.file = {};
    module.path = "/nowhere/dwarf4";
    return name(recording, {ran.at.at("hold"), true}, sources);
  };
  CHECK(named({.debug_servers = false})[0].kind == FrameKind::unknown);
  CHECK(server.requests() == 0);
  const std::vector<Symbol> symbols = named({});
  CHECK(symbols.size() == 3);
  CHECK(symbols.back().kind != FrameKind::unknown);
  CHECK(symbols.back().module == "/nowhere/dwarf4");
  CHECK(server.requests() == 1);
}
