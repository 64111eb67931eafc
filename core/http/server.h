// SPDX-License-Identifier: BSD-2-Clause
// A server of a few pages. A connection is one question, whose body is not read, and one answer,
// which is always whole.
//
// One thread serves all clients and waits for none of them. Clients may be hostile: a head has
// 2 seconds and 8 KiB in all, an answer the time that a slow line needs, and connections and
// unfinished answers are bounded. At a bound, the peer (peers.h) that holds most loses its oldest,
// so nobody keeps another user or another host out.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/http/head.h"
#include "core/http/peers.h"
#include "core/unique_fd.h"

namespace memflame {

struct HttpLimits {
  size_t connections = 48;
  size_t answers = 8;  // that are under way
  size_t head_bytes = 8192;
  std::chrono::milliseconds head_time{2000};
};

class HttpServer {
 public:
  using Answers = std::function<HttpAnswer(const HttpQuestion&)>;

  // Listens at an address of this machine; port 0 is a free one. `headers` are lines that each
  // answer has, "Name: value\r\n". Throws Error; its text is the reason.
  HttpServer(const std::string& host, uint16_t port, std::string headers, HttpLimits limits = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;
  // The descriptors that serve() needs.
  std::vector<int> sockets() const;
  // Answers until stop(). The content of an answer to HEAD is not sent.
  void serve(const Answers& answers);
  // Any thread may call it, also before serve().
  void stop();

 private:
  struct Connection;

  bool accept_clients(const Answers& answers);
  void advance(Connection& connection, const Answers& answers);
  void read_head(Connection& connection, const Answers& answers);
  void begin_answer(Connection& connection, const HttpAnswer& answer, bool with_content);
  void send_answer(Connection& connection);
  void bound_answers();
  int patience_ms() const;

  const HttpLimits limits_;
  const std::string headers_;
  const Peers peers_;
  const UniqueFd listening_;
  std::vector<Connection> connections_;  // the oldest first
};

}  // namespace memflame
