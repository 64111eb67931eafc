// SPDX-License-Identifier: BSD-2-Clause
#include "cli/page/page_server.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "cli/page/page_gate.h"
#include "cli/page/page_http.h"
#include "core/error.h"
#include "core/sandbox.h"

namespace memflame {
namespace {

constexpr const char* has_ended = "the process that serves the page has ended";
constexpr int patience_s = 10;  // for the process, which has nothing else to do

void send_part(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) throw Error(has_ended);
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

// What comes until `size` bytes are there or the other end is closed.
std::string receive_part(int socket, size_t size) {
  std::string bytes(size, '\0');
  size_t known = 0;
  while (known < size) {
    const ssize_t got = ::recv(socket, bytes.data() + known, size - known, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    known += static_cast<size_t>(got);
  }
  bytes.resize(known);
  return bytes;
}

}  // namespace

PageServer::PageServer(uint16_t port) {
  const std::string token = new_token();
  const Apart apart =
      start_apart("serves the page", [&](int socket) { serve_pages(socket, port, token); });
  pid_ = apart.pid;
  socket_ = UniqueFd(apart.socket);
  const timeval most{.tv_sec = patience_s, .tv_usec = 0};
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO})
    ::setsockopt(socket_.get(), SOL_SOCKET, option, &most, sizeof most);
  uint32_t own_port = 0;
  const std::string bytes = receive_part(socket_.get(), sizeof own_port);
  if (bytes.size() == sizeof own_port) std::memcpy(&own_port, bytes.data(), sizeof own_port);
  if (own_port == 0) {
    constexpr size_t most_words = 1000;
    const std::string why = receive_part(socket_.get(), most_words);
    throw Error("cannot listen on 127.0.0.1" + (port == 0 ? "" : ":" + std::to_string(port)) +
                ": " + (why.empty() ? has_ended : why) +
                (port == 0 ? "" : "; another --port may be free"));
  }
  address_ = "http://127.0.0.1:" + std::to_string(own_port) + "/" + token + "/";
}

PageServer::~PageServer() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool PageServer::is_asked(std::chrono::milliseconds patience) {
  pollfd entry{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&entry, 1, static_cast<int>(patience.count())) <= 0) return false;
  std::array<char, 4096> questions{};
  const ssize_t got = ::recv(socket_.get(), questions.data(), questions.size(), MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) throw Error(has_ended);
  return got > 0;
}

void PageServer::show(std::string_view state, std::string_view page) {
  if (page.size() > most_page_bytes) throw Error("the page is too large to be shown");
  const PageHead head{.state_bytes = state.size(), .page_bytes = page.size()};
  std::array<char, sizeof head> bytes{};
  std::memcpy(bytes.data(), &head, sizeof head);
  send_part(socket_.get(), {bytes.data(), bytes.size()});
  send_part(socket_.get(), state);
  send_part(socket_.get(), page);
}

}  // namespace memflame
