// Reports on what is outstanding while a run goes on, every so many seconds and at its end.
#pragma once

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/leaks_report.h"
#include "cli/probe_cmd.h"
#include "probes/snapshot.h"

namespace memflame {

struct LeaksOptions {
  double interval = 5;  // seconds
  uint64_t count = 0;   // of reports; 0 = until the end
  size_t top = 10;
  bool by_count = false;
  uint64_t older_ns = 500'000'000;
  bool show_blocks = false;
  size_t blocks_per_stack = 20;
  bool trace = false;
  bool exact = false;
};

class LeaksWatcher : public Watcher {
 public:
  // With a format of the request, pictures instead of text. Both must outlive this.
  LeaksWatcher(const LeaksOptions& options, const Request& request);

  void begin(Session& session) override;
  bool look(Session& session, double seconds) override;
  void asked(Session& session, double seconds) override;
  void end(Session& session, double seconds) override;
  bool wants_results(Recording& recording) override;

  void print_call(const bpf::call_record& call, const std::string& function);

 private:
  struct Names {
    std::string process;
    std::vector<std::string> frames;  // innermost first
  };

  void report(Session& session, double seconds, bool is_last);
  void print(Session& session, double seconds, const std::vector<const LiveStack*>& stacks);
  void write_picture(Session& session, double seconds,
                     const std::vector<const LiveStack*>& stacks) const;
  std::vector<const LiveStack*> old_stacks(size_t most) const;
  ReportedStack describe(Session& session, const LiveStack& stack) const;
  void name(Session& session, const std::vector<const LiveStack*>& stacks);
  void flush();

  const LeaksOptions& options_;
  const Request& request_;
  std::unique_ptr<std::ostream> lines_;
  std::unordered_map<uint64_t, Names> names_;    // by key of the stack
  std::unordered_map<uint64_t, Amount> before_;  // in the last report
  std::optional<Amount> live_before_;
  Snapshot snapshot_;  // the last one
  uint64_t start_ns_ = 0;
  uint64_t reports_ = 0;
  double next_;
};

}  // namespace memflame
