// SPDX-License-Identifier: BSD-2-Clause
// OpenTelemetry's profiles, to a collector or a store, by HTTP with protobuf.
#include <memory>

#include "core/gzip.h"
#include "fleet/output.h"
#include "fleet/outputs/otlp_message.h"
#include "fleet/outputs/push.h"

namespace memflame {
namespace {

constexpr std::string_view otlp_path = "/v1development/profiles";

class OtlpOutput : public WindowOutput {
 public:
  explicit OtlpOutput(PushTarget target) : target_(std::move(target)) {}

  void send(std::span<const Window> windows) override {
    for (const Window& window : windows) {
      std::string request;
      try {
        request = gzip_body(otlp_request(window));
      } catch (const Error& damaged) {
        throw Refused(damaged.what());
      }
      const std::string answer = push(target_, std::string(otlp_path), "application/x-protobuf",
                                      request, "Content-Encoding: gzip");
      if (const std::string why = otlp_rejection(answer); !why.empty()) throw Refused(why);
    }
  }

 private:
  PushTarget target_;
};

}  // namespace

std::unique_ptr<WindowOutput> make_otlp(const Setting& settings) {
  settings.allow({MEMFLAME_HTTP_SETTINGS, "kind", "tenant"});
  PushTarget target = push_target(settings);
  // Some write the whole address.
  if (target.url.ends_with(otlp_path)) target.url.resize(target.url.size() - otlp_path.size());
  return std::make_unique<OtlpOutput>(std::move(target));
}

}  // namespace memflame
