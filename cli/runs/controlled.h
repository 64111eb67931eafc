// SPDX-License-Identifier: BSD-2-Clause
// A watcher that `memflame control` can reach while its run goes on.
#pragma once

#include <ctime>
#include <optional>
#include <string>

#include "cli/runs/control_socket.h"
#include "cli/runs/run_request.h"

namespace memflame {

class Controlled : public Watcher {
 public:
  // Both must outlive this.
  Controlled(Watcher& watcher, const Request& request) : watcher_(watcher), request_(request) {}

  // If there cannot be a socket, it says so, and the run goes on without. Throws Error then if the
  // run begins paused.
  void begin(LiveRun& run) override;
  bool resumes(LiveRun& run) override;
  void called(const bpf::call_record& call, const std::string& function) override {
    watcher_.called(call, function);
  }
  bool look(LiveRun& run, double seconds) override;
  void asked(LiveRun& run, double seconds) override { watcher_.asked(run, seconds); }
  void end(LiveRun& run, double seconds) override;
  void finished(const RunInfo& info) override { watcher_.finished(info); }
  bool wants_results(Recording& recording) override { return watcher_.wants_results(recording); }
  void wrote_results(const Recording& recording) override { watcher_.wrote_results(recording); }
  std::optional<JudgedRun> judged() const override { return watcher_.judged(); }
  bool has_failed() const override { return watcher_.has_failed(); }

 private:
  std::future<std::string> answer(const ControlRequest& request, LiveRun& run, double seconds);
  std::future<std::string> answer_paused(const ControlRequest& request, const LiveRun& run);
  std::string status(const LiveRun& run, std::optional<double> seconds) const;

  Watcher& watcher_;
  const Request& request_;
  std::time_t began_ = 0;
  bool is_resumed_ = false;
  std::optional<ControlServer> server_;
};

}  // namespace memflame
