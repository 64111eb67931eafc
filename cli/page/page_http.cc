// SPDX-License-Identifier: BSD-2-Clause
#include "cli/page/page_http.h"

#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "cli/page/page_gate.h"
#include "core/error.h"
#include "core/http/server.h"
#include "core/sandbox.h"

namespace memflame {
namespace {

constexpr int in_sandbox = 0;  // the socket
constexpr uint64_t memory_bytes = uint64_t{512} << 20U;

using Text = std::shared_ptr<const std::string>;

struct ShownPage {
  Text state, page;
};

class PageShelf {
 public:
  void put(ShownPage shown) {
    const std::lock_guard lock(mutex_);
    shown_ = std::move(shown);
  }
  ShownPage get() {
    const std::lock_guard lock(mutex_);
    return shown_;
  }

 private:
  std::mutex mutex_;
  ShownPage shown_;
};

bool receive(char* into, size_t size) {
  while (size != 0) {
    const ssize_t got = ::recv(in_sandbox, into, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

// Waits for a page and takes it. Ends the process when memflame has ended.
void take_page(PageShelf& shelf) {
  PageHead head;
  std::array<char, sizeof head> bytes{};
  if (!receive(bytes.data(), bytes.size())) ::_exit(0);
  std::memcpy(&head, bytes.data(), sizeof head);
  if (std::max(head.state_bytes, head.page_bytes) > most_page_bytes) ::_exit(1);
  std::string state(head.state_bytes, '\0'), page(head.page_bytes, '\0');
  if (!receive(state.data(), state.size()) || !receive(page.data(), page.size())) ::_exit(0);
  shelf.put({std::make_shared<const std::string>(std::move(state)),
             std::make_shared<const std::string>(std::move(page))});
}

void tell(std::string_view bytes) {
  // If memflame is busy, it knows already that somebody asks.
  [[maybe_unused]] const ssize_t sent =
      ::send(in_sandbox, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

HttpAnswer answer(const HttpQuestion& asked, PageShelf& shelf, std::string_view token,
                  uint16_t port) {
  switch (answer_to({asked.method, asked.host, asked.target}, token, port)) {
    case PageAnswer::page:
      tell({&page_asked, 1});
      return {.type = "text/html; charset=utf-8", .content = shelf.get().page};
    case PageAnswer::state:
      tell({&page_asked, 1});
      return {.type = "application/json", .content = shelf.get().state};
    case PageAnswer::wrong_host:
      return text_answer(403, "memflame answers at 127.0.0.1 only\n");
    case PageAnswer::not_found:
      break;
    case PageAnswer::wrong_method: {
      HttpAnswer refusal = text_answer(405, "memflame answers GET only\n");
      refusal.allow = "GET";
      return refusal;
    }
  }
  return text_answer(404, "there is nothing here\n");
}

// The token is in the address, which no other place may learn. No other page may show or read this
// one.
constexpr const char* headers_of_all =
    "Cache-Control: no-store\r\n"
    "Content-Security-Policy: frame-ancestors 'none'\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n";

[[noreturn]] void fail(int socket, const std::string& why) {
  std::string bytes(sizeof(uint32_t), '\0');
  bytes += why;
  [[maybe_unused]] const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  ::_exit(1);
}

HttpServer listen_or_fail(int socket, uint16_t port) {
  try {
    return HttpServer("127.0.0.1", port, headers_of_all);
  } catch (const Error& error) {
    fail(socket, error.what());
  }
}

}  // namespace

void serve_pages(int socket, uint16_t port, const std::string& token) {
  try {
    ::mallopt(M_ARENA_MAX, 1);  // threads share what pages take
    HttpServer server = listen_or_fail(socket, port);
    if (!enter_sandbox(
            socket,
            {.data_bytes = memory_bytes, .server = server.sockets(), .name = "memflame-page"}))
      fail(in_sandbox, "the process for it cannot give up its rights: the kernel has no seccomp");
    const uint32_t own_port = server.port();
    std::array<char, sizeof own_port> bytes{};
    std::memcpy(bytes.data(), &own_port, sizeof own_port);
    tell({bytes.data(), bytes.size()});

    PageShelf shelf;
    take_page(shelf);  // until then, clients wait
    std::thread([&shelf] {
      while (true) take_page(shelf);
    }).detach();
    server.serve([&](const HttpQuestion& asked) {
      return answer(asked, shelf, token, static_cast<uint16_t>(own_port));
    });
  } catch (const std::exception&) {
    ::_exit(1);
  }
  ::_exit(0);
}

}  // namespace memflame
