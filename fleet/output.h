// SPDX-License-Identifier: BSD-2-Clause
// Where windows go. A kind of output is a file in fleet/outputs/ and a row in outputs.def.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"
#include "fleet/figures.h"
#include "fleet/http.h"
#include "fleet/settings.h"
#include "fleet/window.h"

namespace memflame {

// The store has answered that it will never take this: it is not sent again, and counted.
struct Refused : Error {
  using Error::Error;
};

// One output of a configuration. It runs in a process that has no rights, in one thread. It keeps
// nothing across its end: what was not sent waits in the spool.
class WindowOutput {
 public:
  WindowOutput() = default;
  WindowOutput(const WindowOutput&) = delete;
  WindowOutput& operator=(const WindowOutput&) = delete;
  virtual ~WindowOutput() = default;

  // How many windows it likes to get at a time.
  virtual size_t batch() const { return 1; }
  // Windows in the order in which they ended. When it returns, they are in the store for good. They
  // may have been sent before, as a whole or in part: the store must then have each of them once.
  // Throws Refused, or another Error if it is worth trying again.
  virtual void send(std::span<const Window> windows) = 0;

  // How all outputs fare, at the beginning and every few seconds; for those that show it. It may
  // throw like send().
  virtual void tell(const FleetFigures& /*figures*/) {}
};

struct OutputKind {
  std::string_view name;  // the word for "kind"
  std::string_view help;
  // Reads the output's settings; throws Error with their lines. It reaches nobody yet.
  std::unique_ptr<WindowOutput> (*make)(const Setting& settings);
};

#define WINDOW_OUTPUT(name, help) \
  std::unique_ptr<WindowOutput> make_##name(const Setting& settings);
#include "fleet/outputs.def"
#undef WINDOW_OUTPUT

std::span<const OutputKind> output_kinds();

// The output that these settings describe, by their "kind".
std::unique_ptr<WindowOutput> make_output(const Setting& settings);

// The settings that all outputs by HTTP have, for Setting::allow().
#define MEMFLAME_HTTP_SETTINGS                                                             \
  "url", "token_file", "user", "password_file", "ca_file", "certificate_file", "key_file", \
      "proxy", "headers", "plain"
// Throws Error also for a secret that would go over the network without TLS, unless "plain" is
// true.
HttpAccess http_access(const Setting& settings);
// "url", without a '/' at its end.
std::string http_url(const Setting& settings);

}  // namespace memflame
