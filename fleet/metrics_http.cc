// SPDX-License-Identifier: BSD-2-Clause
// The only file of fleet/ that knows cpp-httplib.
#include "fleet/metrics_http.h"

#include <httplib.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "core/error.h"

namespace memflame {
namespace {

constexpr size_t serving_threads = 3;
constexpr time_t serving_patience = 5;  // seconds
constexpr size_t most_asked_bytes = 8192;

bool is_loopback(const std::string& host) {
  return host.starts_with("127.") || host == "::1" || host == "localhost";
}

bool wants_openmetrics(const httplib::Request& request) {
  return request.get_header_value("Accept").find("application/openmetrics-text") !=
         std::string::npos;
}

void refuse_request(httplib::Response& response, int status, const char* why) {
  response.status = status;
  response.set_content(why, "text/plain; charset=utf-8");
}

}  // namespace

bool is_local_name(const std::string& host_header) {
  if (host_header.starts_with("[")) return true;  // an address of IPv6
  const std::string host = host_header.substr(0, host_header.find(':'));
  return host.empty() || host == "localhost" ||
         host.find_first_not_of("0123456789.") == std::string::npos;
}

struct MetricsServer::Running {
  httplib::Server server;
  std::atomic<bool> has_ended{false};
  std::thread thread;
};

MetricsServer::MetricsServer(const ListenAddress& address,
                             std::function<std::string(MetricsForm)> text)
    : running_(std::make_unique<Running>()) {
  httplib::Server& server = running_->server;
  // Not the library's own choice, SO_REUSEPORT, with which others could listen there, too.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.new_task_queue = [] { return new httplib::ThreadPool(serving_threads); };
  server.set_default_headers(
      {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}});
  server.set_keep_alive_max_count(1);  // one that is idle would hold a thread
  server.set_read_timeout(serving_patience);
  server.set_write_timeout(serving_patience);
  server.set_payload_max_length(most_asked_bytes);
  server.set_pre_routing_handler([text = std::move(text), is_local = is_loopback(address.host)](
                                     const httplib::Request& request, httplib::Response& response) {
    const auto handled = httplib::Server::HandlerResponse::Handled;
    if (is_local && !is_local_name(request.get_header_value("Host"))) {
      refuse_request(response, 403, "memflame answers at its address only\n");
    } else if (request.method != "GET" && request.method != "HEAD") {
      response.set_header("Allow", "GET, HEAD");
      refuse_request(response, 405, "memflame answers GET only\n");
    } else if (request.path != "/metrics") {
      refuse_request(response, 404, "there is nothing here: see /metrics\n");
    } else if (wants_openmetrics(request)) {
      response.set_content(text(MetricsForm::openmetrics),
                           "application/openmetrics-text; version=1.0.0; charset=utf-8");
    } else {
      response.set_content(text(MetricsForm::prometheus),
                           "text/plain; version=0.0.4; charset=utf-8");
    }
    return handled;
  });
  errno = 0;
  if (!server.bind_to_port(address.host, address.port))
    throw Error("cannot listen on " + address.host + ", port " + std::to_string(address.port) +
                ": " + (errno != 0 ? std::strerror(errno) : "it is not an address of this host"));
  running_->thread = std::thread([running = running_.get()] {
    running->server.listen_after_bind();
    running->has_ended = true;
  });
}

MetricsServer::~MetricsServer() {
  // A stop() before it listens would be lost.
  while (!running_->server.is_running() && !running_->has_ended)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  running_->server.stop();
  running_->thread.join();
}

}  // namespace memflame
