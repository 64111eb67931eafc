// SPDX-License-Identifier: BSD-2-Clause
// Keeps nothing: the figures of the newest windows, at http://127.0.0.1:9754/metrics.
#include <charconv>
#include <cmath>
#include <memory>
#include <mutex>

#include "core/clock.h"
#include "core/error.h"
#include "fleet/metrics.h"
#include "fleet/metrics_http.h"
#include "fleet/output.h"

namespace memflame {
namespace {

constexpr const char* usual_listen = "127.0.0.1:9754";
constexpr double least_series = 50, most_series = 100000;

class PrometheusOutput : public WindowOutput {
 public:
  PrometheusOutput(ListenAddress address, const MetricsOptions& options)
      : address_(std::move(address)), metrics_(options) {}

  size_t batch() const override { return 64; }

  void send(std::span<const Window> windows) override {
    serve();
    const std::lock_guard lock(mutex_);
    for (const Window& window : windows) {
      try {
        metrics_.add(window);
      } catch (const Error& problem) {
        throw Refused(problem.what());
      }
    }
    metrics_.forget(real_time_ns());
  }

  void tell(const FleetFigures& figures) override {
    serve();
    const std::lock_guard lock(mutex_);
    metrics_.set(figures);
  }

 private:
  void serve() {
    if (server_) return;
    server_ = std::make_unique<MetricsServer>(address_, [this](MetricsForm form) {
      const std::lock_guard lock(mutex_);
      return metrics_.text(form, real_time_ns());
    });
  }

  const ListenAddress address_;
  std::mutex mutex_;
  Metrics metrics_;
  std::unique_ptr<MetricsServer> server_;  // goes first, as it reads the others
};

ListenAddress listen_address(const std::optional<Setting>& setting) {
  const std::string text = setting ? setting->text() : usual_listen;
  const size_t colon = text.rfind(':');
  ListenAddress address;
  address.host = text.substr(0, colon);
  if (address.host.starts_with('[') && address.host.ends_with(']'))
    address.host = address.host.substr(1, address.host.size() - 2);
  const std::string_view port =
      colon == std::string::npos ? std::string_view() : std::string_view(text).substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  const bool is_port = error == std::errc{} && end == port.data() + port.size() &&
                       address.port > 0 && address.port < 65536;
  if (address.host.empty() || !is_port)
    setting->fail("'" + text + "' is not ADDRESS:PORT, such as " + usual_listen);
  return address;
}

}  // namespace

std::unique_ptr<WindowOutput> make_prometheus(const Setting& settings) {
  settings.allow({"kind", "listen", "max_series", "stale_windows"});
  MetricsOptions options;
  if (const std::optional<Setting> most = settings.find("max_series"))
    options.max_series = static_cast<size_t>(most->number(least_series, most_series));
  if (const std::optional<Setting> stale = settings.find("stale_windows"))
    options.stale_windows = stale->number(2, 1000);
  return std::make_unique<PrometheusOutput>(listen_address(settings.find("listen")), options);
}

}  // namespace memflame
