// SPDX-License-Identifier: BSD-2-Clause
// Grafana Pyroscope's /ingest, which Alloy and Pyroscope before 1.0 know, too. The address of the
// request has the service and the labels, NAME{label=value,…}; its body is a form with the profile
// and what its columns mean.
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "fleet/output.h"
#include "fleet/outputs/push.h"

namespace memflame {
namespace {

constexpr size_t longest_label = 1024;

// Its reader of labels knows no quotes, so what would end a value is replaced.
std::string pyroscope_value(std::string_view value) {
  std::string plain(value.substr(0, longest_label));
  for (char& letter : plain)
    if (letter == ',' || letter == '{' || letter == '}' ||
        static_cast<unsigned char>(letter) < 0x20)
      letter = '_';
  return plain;
}

std::string pyroscope_service(std::string_view service) {
  constexpr std::string_view allowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/";
  std::string plain(service.substr(0, longest_label));
  for (char& letter : plain)
    if (allowed.find(letter) == std::string_view::npos) letter = '_';
  return plain.empty() ? "unknown" : plain;
}

std::string pyroscope_name(const WindowHead& head) {
  std::string name = pyroscope_service(label_in(head, "service")) + "{";
  std::set<std::string> taken;
  for (const auto& [label, value] : head.labels) {
    if (label == "service") continue;
    std::string plain = plain_label_name(label);
    while (!taken.insert(plain).second) plain += '_';
    name += (name.ends_with('{') ? "" : ",") + plain + "=" + pyroscope_value(value);
  }
  return name + "}";
}

std::string meaning_of_columns() {
  nlohmann::json columns = nlohmann::json::object();
  for (const WindowType& type : window_types)
    columns[std::string(type.name)] = {{"units", type.unit == Unit::bytes ? "bytes" : "objects"},
                                       {"aggregation", type.is_state ? "average" : "sum"},
                                       {"sampled", false}};
  return columns.dump();
}

std::string form_part(const std::string& boundary, const std::string& name,
                      std::string_view bytes) {
  return "--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + name +
         "\"; filename=\"" + name + "\"\r\nContent-Type: application/octet-stream\r\n\r\n" +
         std::string(bytes) + "\r\n";
}

class PyroscopeOutput : public WindowOutput {
 public:
  explicit PyroscopeOutput(PushTarget target) : target_(std::move(target)) {}

  void send(std::span<const Window> windows) override {
    for (const Window& window : windows) send_one(window);
  }

 private:
  void send_one(const Window& window) {
    const WindowHead& head = window.head;
    // In no profile, except by a chance of 2^-128.
    const std::string boundary = "memflame-" + new_window_id();
    const std::string body = form_part(boundary, "profile", window.pprof) +
                             form_part(boundary, "sample_type_config", meaning_of_columns()) +
                             "--" + boundary + "--\r\n";
    const std::string path = "/ingest?name=" + url_encoded(pyroscope_name(head)) +
                             "&from=" + std::to_string(head.began_ns / 1'000'000'000) +
                             "&until=" + std::to_string(head.ended_ns / 1'000'000'000) +
                             "&spyName=memflame";
    push(target_, path, "multipart/form-data; boundary=" + boundary, body);
  }

  PushTarget target_;
};

}  // namespace

std::unique_ptr<WindowOutput> make_pyroscope(const Setting& settings) {
  settings.allow({MEMFLAME_HTTP_SETTINGS, "kind", "tenant"});
  return std::make_unique<PyroscopeOutput>(push_target(settings));
}

}  // namespace memflame
