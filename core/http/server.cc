// SPDX-License-Identifier: BSD-2-Clause
#include "core/http/server.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "core/error.h"

namespace memflame {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds answer_time{10'000}, farewell_time{1000}, pause_time{50};
constexpr size_t slowest_line = 65'536;  // bytes a second
constexpr size_t most_at_once = size_t{1} << 20U;
constexpr int waiting_clients = 128;

struct FreeAddresses {
  void operator()(addrinfo* first) const { ::freeaddrinfo(first); }
};

UniqueFd listen_at(const addrinfo& address) {
  UniqueFd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // Not SO_REUSEPORT, with which others could listen there, too.
  const int yes = 1, no = 0;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (address.ai_family == AF_INET6)
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  if (::bind(fd.get(), address.ai_addr, address.ai_addrlen) != 0 ||
      ::listen(fd.get(), waiting_clients) != 0)
    fd = {};
  return fd;
}

UniqueFd listen_at(const std::string& host, uint16_t port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
    throw Error("it is not an address of this host");
  const std::unique_ptr<addrinfo, FreeAddresses> addresses(found);
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next)
    if (UniqueFd fd = listen_at(*address)) return fd;
  throw Error(std::strerror(errno));
}

HttpAnswer answer_of(const HttpServer::Answers& answers, const HttpQuestion& question) {
  try {
    return answers(question);
  } catch (const std::exception&) {
    return text_answer(500, "memflame failed to answer\n");
  }
}

}  // namespace

enum class HttpStage : uint8_t {
  asks,
  is_answered,
  leaves,  // has the answer, and may still be sending: closing now could destroy the answer
  has_left
};

struct HttpServer::Connection {
  UniqueFd fd;
  std::string peer;
  HttpStage stage = HttpStage::asks;
  Clock::time_point deadline;
  std::string head = {};  // the question's until it is complete, then the answer's
  std::shared_ptr<const std::string> content = nullptr;
  size_t sent = 0;  // of head and content

  void leave() {
    stage = HttpStage::has_left;
    fd = {};
    content.reset();
  }
};

namespace {

// Whoever holds most of these, and what is `held` beside, gives way: an unfinished question before
// an answer, the oldest first.
template <typename Connections, typename IsOne>
// NOLINTNEXTLINE(performance-unnecessary-value-param): it is added to below
void drop_one(Connections& connections, std::map<std::string_view, size_t> held,
              const IsOne& is_one) {
  for (const auto& one : connections)
    if (is_one(one)) ++held[one.peer];
  typename Connections::value_type* worst = nullptr;
  const auto rank = [&](const auto& one) {
    return std::pair(held[one.peer], one.stage != HttpStage::is_answered);
  };
  for (auto& one : connections)
    if (is_one(one) && (worst == nullptr || rank(one) > rank(*worst))) worst = &one;
  if (worst != nullptr) worst->leave();
}

}  // namespace

HttpServer::HttpServer(const std::string& host, uint16_t port, std::string headers,
                       HttpLimits limits)
    : limits_(limits), headers_(std::move(headers)), listening_(listen_at(host, port)) {
  connections_.reserve(limits_.connections);
}
HttpServer::~HttpServer() = default;

uint16_t HttpServer::port() const {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  ::getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&storage), &size);
  sockaddr_in name{};  // the port of IPv6 is at the same place
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  std::memcpy(&name, &storage, sizeof name);
  return ntohs(name.sin_port);
}

std::vector<int> HttpServer::sockets() const { return {listening_.get(), peers_.socket()}; }

void HttpServer::stop() { ::shutdown(listening_.get(), SHUT_RDWR); }

void HttpServer::serve(const Answers& answers) {
  std::vector<pollfd> polled;
  do {
    polled.assign(1, {.fd = listening_.get(), .events = POLLIN, .revents = 0});
    for (const Connection& one : connections_)
      polled.push_back(
          {.fd = one.fd.get(),
           .events = one.stage == HttpStage::is_answered ? short{POLLOUT} : short{POLLIN},
           .revents = 0});
    if (::poll(polled.data(), polled.size(), patience_ms()) < 0) polled.assign(1, {});
    for (size_t i = 1; i < polled.size(); ++i)
      if (polled[i].revents != 0) advance(connections_[i - 1], answers);
    const Clock::time_point now = Clock::now();
    std::erase_if(connections_, [now](const Connection& one) {
      return one.stage == HttpStage::has_left || one.deadline <= now;
    });
  } while (accept_clients(answers));
  connections_.clear();
}

// Until the next deadline; without a connection for ever.
int HttpServer::patience_ms() const {
  if (connections_.empty()) return -1;
  const auto first = std::min_element(
      connections_.begin(), connections_.end(),
      [](const Connection& one, const Connection& other) { return one.deadline < other.deadline; });
  const auto rest = std::chrono::ceil<milliseconds>(first->deadline - Clock::now());
  return static_cast<int>(std::max(rest, milliseconds(0)).count());
}

// Returns false after stop(). Clients in a row take turns with those that are connected.
bool HttpServer::accept_clients(const Answers& answers) {
  for (size_t i = 0; i < limits_.connections; ++i) {
    UniqueFd fd(::accept4(listening_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) {
      if (errno == EINVAL) return false;
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EAGAIN) ::poll(nullptr, 0, static_cast<int>(pause_time.count()));
      return true;
    }
    std::string peer = peers_.peer_of(fd.get());
    if (connections_.size() == limits_.connections) {
      drop_one(connections_, {{peer, 1}}, [](const Connection&) { return true; });
      std::erase_if(connections_,
                    [](const Connection& one) { return one.stage == HttpStage::has_left; });
    }
    connections_.push_back({.fd = std::move(fd),
                            .peer = std::move(peer),
                            .deadline = Clock::now() + limits_.head_time});
    advance(connections_.back(), answers);
  }
  return true;
}

void HttpServer::advance(Connection& connection, const Answers& answers) {
  switch (connection.stage) {
    case HttpStage::asks:
      return read_head(connection, answers);
    case HttpStage::is_answered:
      return send_answer(connection);
    case HttpStage::leaves: {
      std::array<char, 16384> ignored{};
      const ssize_t got = ::recv(connection.fd.get(), ignored.data(), ignored.size(), 0);
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) connection.leave();
      return;
    }
    case HttpStage::has_left:
      return;
  }
}

void HttpServer::read_head(Connection& connection, const Answers& answers) {
  std::string& head = connection.head;
  const size_t known = head.size();
  head.resize(limits_.head_bytes);
  const ssize_t got = ::recv(connection.fd.get(), head.data() + known, head.size() - known, 0);
  const bool may_come = got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
  head.resize(known + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  if (!may_come) return connection.leave();
  const size_t end = end_of_head(head);
  if (end == std::string::npos) {
    if (head.size() == limits_.head_bytes)
      begin_answer(connection, text_answer(431, "the headers are longer than 8 KiB\n"), true);
    return;
  }
  const auto question = parse_head(std::string_view(head).substr(0, end));
  if (!question) return begin_answer(connection, text_answer(400, "this is not HTTP/1\n"), true);
  begin_answer(connection, answer_of(answers, *question), question->method != "HEAD");
}

void HttpServer::begin_answer(Connection& connection, const HttpAnswer& answer, bool with_content) {
  connection.head = head_of(answer, headers_);
  if (with_content) connection.content = answer.content;
  const size_t size = connection.content ? connection.content->size() : 0;
  connection.stage = HttpStage::is_answered;
  connection.deadline = Clock::now() + answer_time + std::chrono::seconds(size / slowest_line);
  send_answer(connection);
  if (connection.stage == HttpStage::is_answered) bound_answers();
}

void HttpServer::send_answer(Connection& connection) {
  const std::string_view content = connection.content ? *connection.content : std::string_view();
  const size_t head_size = connection.head.size(), size = head_size + content.size();
  // Most answers are sent at once. A large one lets other clients have their turns.
  for (size_t once = 0; once < most_at_once && connection.sent < size;) {
    const bool is_head = connection.sent < head_size;
    const std::string_view rest = is_head
                                      ? std::string_view(connection.head).substr(connection.sent)
                                      : content.substr(connection.sent - head_size);
    const ssize_t done =
        ::send(connection.fd.get(), rest.data(), std::min(rest.size(), most_at_once),
               MSG_NOSIGNAL | (is_head && !content.empty() ? MSG_MORE : 0));
    if (done < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (done < 0) return connection.leave();
    once += static_cast<size_t>(done);
    connection.sent += static_cast<size_t>(done);
  }
  if (connection.sent < size) return;
  connection.content.reset();
  connection.stage = HttpStage::leaves;
  connection.deadline = Clock::now() + farewell_time;
  ::shutdown(connection.fd.get(), SHUT_WR);
}

void HttpServer::bound_answers() {
  const auto is_answered = [](const Connection& one) {
    return one.stage == HttpStage::is_answered;
  };
  const auto under_way = std::count_if(connections_.begin(), connections_.end(), is_answered);
  if (static_cast<size_t>(under_way) > limits_.answers) drop_one(connections_, {}, is_answered);
}

}  // namespace memflame
