// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/metrics_http.h"

#include <thread>
#include <utility>

#include "core/error.h"
#include "core/http/server.h"

namespace memflame {
namespace {

bool is_loopback(const std::string& host) {
  return host.starts_with("127.") || host == "::1" || host == "localhost";
}

bool wants_openmetrics(const HttpQuestion& asked) {
  return asked.accept.find("application/openmetrics-text") != std::string::npos;
}

HttpAnswer metrics_answer(const HttpQuestion& asked, bool is_local,
                          const std::function<std::string(MetricsForm)>& text) {
  if (is_local && !is_local_name(asked.host))
    return text_answer(403, "memflame answers at its address only\n");
  if (asked.method != "GET" && asked.method != "HEAD") {
    HttpAnswer refusal = text_answer(405, "memflame answers GET only\n");
    refusal.allow = "GET, HEAD";
    return refusal;
  }
  if (asked.target.substr(0, asked.target.find('?')) != "/metrics")
    return text_answer(404, "there is nothing here: see /metrics\n");
  const bool is_open = wants_openmetrics(asked);
  HttpAnswer answer =
      text_answer(200, text(is_open ? MetricsForm::openmetrics : MetricsForm::prometheus));
  answer.type = is_open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                        : "text/plain; version=0.0.4; charset=utf-8";
  return answer;
}

// Throws Error.
HttpServer listen_for_scrapes(const ListenAddress& address) {
  try {
    return {address.host, static_cast<uint16_t>(address.port),
            "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"};
  } catch (const Error& error) {
    throw Error("cannot listen on " + address.host + ", port " + std::to_string(address.port) +
                ": " + error.what());
  }
}

}  // namespace

bool is_local_name(const std::string& host_header) {
  if (host_header.starts_with("[")) return true;  // an address of IPv6
  const std::string host = host_header.substr(0, host_header.find(':'));
  return host.empty() || host == "localhost" ||
         host.find_first_not_of("0123456789.") == std::string::npos;
}

struct MetricsServer::Running {
  explicit Running(const ListenAddress& address) : server(listen_for_scrapes(address)) {}

  HttpServer server;
  std::thread thread;
};

MetricsServer::MetricsServer(const ListenAddress& address,
                             std::function<std::string(MetricsForm)> text)
    : running_(std::make_unique<Running>(address)) {
  running_->thread = std::thread([&server = running_->server, text = std::move(text),
                                  is_local = is_loopback(address.host)] {
    server.serve([&](const HttpQuestion& asked) { return metrics_answer(asked, is_local, text); });
  });
}

MetricsServer::~MetricsServer() {
  running_->server.stop();
  running_->thread.join();
}

}  // namespace memflame
