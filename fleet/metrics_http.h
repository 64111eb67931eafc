// SPDX-License-Identifier: BSD-2-Clause
// A server for /metrics.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "fleet/metrics.h"

namespace memflame {

struct ListenAddress {
  std::string host;  // an address of this machine: "127.0.0.1", "::1", "0.0.0.0"
  int port = 0;
};

class MetricsServer {
 public:
  // Listens until it goes. A thread of its own calls `text`. Throws Error if it cannot.
  MetricsServer(const ListenAddress& address, std::function<std::string(MetricsForm)> text);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

 private:
  struct Running;
  std::unique_ptr<Running> running_;
};

// Whether a request with this Host header may be answered by a server that listens on the loopback
// address: a page of another site must not read the figures under a name that leads here.
bool is_local_name(const std::string& host_header);

}  // namespace memflame
