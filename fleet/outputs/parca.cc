// SPDX-License-Identifier: BSD-2-Clause
// Parca's WriteRaw, by the JSON form that its server offers beside gRPC. Addresses are those that
// the linker gave, so its symbolizer finds names by build id.
#include <memory>
#include <nlohmann/json.hpp>

#include "fleet/output.h"
#include "fleet/outputs/push.h"

namespace memflame {
namespace {

using nlohmann::json;

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view part = bytes.substr(at, 3);
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i)
      bits = (bits << 8U) | (i < part.size() ? static_cast<unsigned char>(part[i]) : 0U);
    for (size_t i = 0; i < 4; ++i)
      text += i <= part.size() ? digits[(bits >> (18U - 6U * i)) & 63U] : '=';
  }
  return text;
}

json parca_label(const std::string& name, const std::string& value) {
  return {{"name", name}, {"value", value}};
}

json parca_series(const Window& window) {
  json labels = json::array({parca_label("__name__", "memory")});
  std::map<std::string, std::string> plain;
  for (const auto& [name, value] : window.head.labels) {
    std::string unused = plain_label_name(name);
    while (plain.contains(unused)) unused += '_';
    plain[unused] = value;
  }
  for (const auto& [name, value] : plain) labels.push_back(parca_label(name, value));
  return {{"labels", {{"labels", labels}}},
          {"samples", json::array({{{"rawProfile", base64(window.pprof)}}})}};
}

class ParcaOutput : public WindowOutput {
 public:
  explicit ParcaOutput(PushTarget target) : target_(std::move(target)) {}

  void send(std::span<const Window> windows) override {
    json series = json::array();
    for (const Window& window : windows) series.push_back(parca_series(window));
    const json body{{"series", series}, {"normalized", true}};
    push(target_, "/api/profiles/writeraw", "application/json",
         body.dump(-1, ' ', false, json::error_handler_t::replace));
  }

 private:
  PushTarget target_;
};

}  // namespace

std::unique_ptr<WindowOutput> make_parca(const Setting& settings) {
  settings.allow({MEMFLAME_HTTP_SETTINGS, "kind", "tenant"});
  return std::make_unique<ParcaOutput>(push_target(settings));
}

}  // namespace memflame
