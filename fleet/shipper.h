// SPDX-License-Identifier: BSD-2-Clause
// Sends the windows of a spool to their outputs. Each output has a thread, so that a store that is
// slow or away holds up no other.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "fleet/figures.h"
#include "fleet/output.h"
#include "fleet/spool.h"

namespace memflame {

// In seconds; tests are faster.
struct ShipperPace {
  double first_pause = 1, longest_pause = 300;  // after failures: doubled each time
  double idle = 1;                              // until the spool is looked at again
  double tell = 5;                              // between two WindowOutput::tell()
  double recount = 3600;
};

class Shipper {
 public:
  // Gets a line without "memflame: " and without an end for each change that people should know: an
  // output does not take windows, and why; it takes them again; windows were refused, damaged or
  // dropped. Called by any thread, one at a time.
  using Say = std::function<void(const std::string& line)>;

  // It begins at once. `outputs` have names that is_output_name(). `board`: what to show of rules,
  // or null.
  Shipper(std::shared_ptr<Spool> spool,
          std::map<std::string, std::unique_ptr<WindowOutput>> outputs, Say say,
          ShipperPace pace = {}, std::shared_ptr<const RuleBoard> board = nullptr);
  // Calls finish(0).
  ~Shipper();
  Shipper(const Shipper&) = delete;
  Shipper& operator=(const Shipper&) = delete;

  // Tries once more to send what waits, for at most this long. False if a thread still waits for a
  // store then: it goes on by itself, so the process must end by _exit().
  bool finish(double seconds);

  FleetFigures figures() const;

  struct State;  // shared with the threads

 private:
  std::shared_ptr<State> state_;
};

}  // namespace memflame
