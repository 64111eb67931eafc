// SPDX-License-Identifier: BSD-2-Clause
// The only file that knows cpp-httplib.
#include "cli/page_http.h"

#include <httplib.h>
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

#include "cli/page_gate.h"
#include "core/sandbox.h"

namespace memflame {
namespace {

constexpr int in_sandbox = 0;   // the socket
constexpr size_t workers = 8;   // a browser opens connections in advance, and leaves them idle
constexpr time_t patience = 5;  // seconds
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

void send_text(httplib::Response& response, const char* type, Text text) {
  const size_t size = text->size();
  if (size == 0) return response.set_content("", type);  // a provider of nothing would never end
  response.set_content_provider(
      size, type, [text = std::move(text)](size_t from, size_t length, httplib::DataSink& sink) {
        constexpr size_t most = size_t{1} << 20U;
        return sink.write(text->data() + from, std::min(length, most));
      });
}

void refuse(httplib::Response& response, int status, const char* why) {
  response.status = status;
  response.set_content(why, "text/plain; charset=utf-8");
}

void answer(const httplib::Request& request, httplib::Response& response, PageShelf& shelf,
            std::string_view token, uint16_t port) {
  const std::string host =
      request.get_header_value_count("Host") == 1 ? request.get_header_value("Host") : "";
  switch (answer_to({request.method, host, request.target}, token, port)) {
    case PageAnswer::page:
      tell({&page_asked, 1});
      return send_text(response, "text/html; charset=utf-8", shelf.get().page);
    case PageAnswer::state:
      tell({&page_asked, 1});
      return send_text(response, "application/json", shelf.get().state);
    case PageAnswer::wrong_host:
      return refuse(response, 403, "memflame answers at 127.0.0.1 only\n");
    case PageAnswer::not_found:
      return refuse(response, 404, "there is nothing here\n");
    case PageAnswer::wrong_method:
      response.set_header("Allow", "GET");
      return refuse(response, 405, "memflame answers GET only\n");
  }
}

// The token is in the address, which no other place may learn. No other page may show or read this
// one.
httplib::Headers headers_of_all() {
  return {{"Cache-Control", "no-store"},
          {"Content-Security-Policy", "frame-ancestors 'none'"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Referrer-Policy", "no-referrer"},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"}};
}

[[noreturn]] void fail(int socket, const std::string& why) {
  std::string bytes(sizeof(uint32_t), '\0');
  bytes += why;
  [[maybe_unused]] const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  ::_exit(1);
}

void set_up(httplib::Server& server, int& listening) {
  // Not the library's own choice, SO_REUSEPORT, with which others could listen there, too.
  server.set_socket_options([&listening](socket_t socket) {
    listening = socket;
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.new_task_queue = [] { return new httplib::ThreadPool(workers); };
  server.set_default_headers(headers_of_all());
  server.set_keep_alive_max_count(1);
  server.set_read_timeout(patience);
  server.set_write_timeout(patience);
}

}  // namespace

void serve_pages(int socket, uint16_t port, const std::string& token) {
  try {
    ::mallopt(M_ARENA_MAX, 1);  // threads share what pages take
    httplib::Server server;
    int listening = -1;
    set_up(server, listening);
    const char* const host = "127.0.0.1";
    errno = 0;
    const int bound = port == 0                         ? server.bind_to_any_port(host)
                      : server.bind_to_port(host, port) ? port
                                                        : -1;
    if (bound <= 0) fail(socket, std::strerror(errno));
    if (!enter_sandbox(
            socket, {.data_bytes = memory_bytes, .listening = listening, .name = "memflame-page"}))
      fail(in_sandbox, "the process for it cannot give up its rights: the kernel has no seccomp");
    const auto own_port = static_cast<uint32_t>(bound);
    std::array<char, sizeof own_port> bytes{};
    std::memcpy(bytes.data(), &own_port, sizeof own_port);
    tell({bytes.data(), bytes.size()});

    PageShelf shelf;
    take_page(shelf);  // until then, clients wait
    std::thread([&shelf] {
      while (true) take_page(shelf);
    }).detach();
    server.set_pre_routing_handler(
        [&](const httplib::Request& request, httplib::Response& response) {
          answer(request, response, shelf, token, static_cast<uint16_t>(own_port));
          return httplib::Server::HandlerResponse::Handled;
        });
    server.listen_after_bind();
  } catch (const std::exception&) {
    ::_exit(1);
  }
  ::_exit(0);
}

}  // namespace memflame
