// SPDX-License-Identifier: BSD-2-Clause
#include "cli/report_live.h"

#include <algorithm>
#include <csignal>
#include <iostream>
#include <optional>
#include <string>

#include "cli/files/recording_file.h"
#include "cli/options.h"
#include "cli/page/live_report.h"
#include "cli/page/page_server.h"
#include "cli/probe_request.h"
#include "cli/record_options.h"
#include "cli/report_shared.h"
#include "cli/runs/recorder.h"
#include "cli/select_options.h"
#include "core/error.h"
#include "probes/run/run.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

constexpr uint64_t most_private_bytes = uint64_t{1} << 30U;
// Less than for a recording that has ended: a page is made again and again.
constexpr size_t most_rows = 500'000;
constexpr uint64_t look_bytes = uint64_t{256} << 20U, survey_bytes = uint64_t{64} << 20U;

struct LiveOptions {
  RecordOptions record;
  LivePlan plan;
  uint16_t port = 0;
};

uint16_t port_of(const po::variables_map& values) {
  unsigned port = 0;
  take(values, "port", port);
  constexpr unsigned most = 65535;
  if (values.count("port") != 0 && (port == 0 || port > most))
    throw Error("--port takes a number from 1 to 65535, not " + std::to_string(port),
                ExitCode::usage);
  return static_cast<uint16_t>(port);
}

// Throws Error (usage) if blocks are to be selected that will not be recorded.
void require_blocks_for(const Query& selection, const Request& request) {
  if (selection.empty() || request.probe.events) return;
  throw Error(selection.where.front().label +
                  " selects single blocks, and a series has sums only: add --detail events",
              ExitCode::usage);
}

void read_live_options(const po::variables_map& values, LiveOptions& options, Request& request) {
  read_record_options(values, options.record, request);
  if (request.output == "-")
    throw Error("--live records to a file: leave out '-o -', or name a file", ExitCode::usage);
  if (request.output.empty() && options.record.limits.max_bytes == 0)
    options.record.limits.max_bytes = most_private_bytes;
  options.port = port_of(values);
  LivePlan& plan = options.plan;
  plan.anonymise = request.transform.anonymise = values["anonymise"].as<bool>();
  plan.file = request.output;
  plan.looks.icicle = values["icicle"].as<bool>();
  plan.options.bins = bins_of(values);
  plan.options.selection = query_of(values, SelectFrom::run);
  plan.looks.options = words_of_selection(values, SelectFrom::run);
  require_blocks_for(plan.options.selection, request);
  plan.options.most_rows = most_rows;
  plan.options.source_folders = !plan.anonymise;
  plan.options.limits = {.look_bytes = look_bytes, .survey_bytes = survey_bytes, .goes_on = true};
  plan.options.lasting_edges = true;
}

Extension make_live_extension(LiveOptions& options) {
  Extension extension;
  extension.command = "report --live";
  CommandPage& page = extension.page;
  page.name = "report";
  page.help = "show the report of a run while it goes on";
  page.usages = {"--live -p PID[,PID...] | --comm NAME [-o FILE.mfr]",
                 "--live --cgroup PATH | --container ID | --unit NAME [-o FILE.mfr]",
                 "--live [-o FILE.mfr] -- COMMAND ARGS"};
  page.description =
      "Records as 'memflame record' does, and serves the report of it to browsers of this machine, "
      "at\n"
      "an address that it prints. The page renews itself until the target ends or Ctrl-C. When "
      "the\n"
      "target has ended, the page stays until Ctrl-C.";
  page.examples = {{"memflame report --live -p 1234", "show what a running process does"},
                   {"memflame report --live --detail events -o all.mfr -- ./server",
                    "the story of each block, and keep the recording"},
                   {"memflame report --live --detail events --min-lifetime 10s -p 1234",
                    "only blocks that have lived for ten seconds"}};
  page.operands = Operands::command;
  extension.draws = false;
  po::options_description live = live_options();
  add_report_options(live);
  extension.visible.add(live).add(record_options()).add(select_options(SelectFrom::run));
  extension.read = [&options](const po::variables_map& values, Request& request) {
    read_live_options(values, options, request);
  };
  return extension;
}

// Tells the report when the recording is complete, and the user where the report is.
class LiveRecorder : public Recorder {
 public:
  LiveRecorder(const RecordOptions& options, const Request& request, LiveReport& report,
               const std::string& address)
      : Recorder(options, request), report_(report), address_(address) {}

  void begin(LiveRun& run) override {
    Recorder::begin(run);
    std::cerr << "memflame: the report is at " + address_ + "\n";
  }
  void finished(const RunInfo& info) override { was_stopped_ = info.stopped; }
  void wrote_results(const Recording& recording) override {
    Recorder::wrote_results(recording);
    report_.end();
    if (!was_stopped_)
      std::cerr << "memflame: the run has ended; its report stays at " + address_ +
                       " until Ctrl-C\n";
  }
  bool was_stopped() const { return was_stopped_; }

 private:
  LiveReport& report_;
  const std::string& address_;
  bool was_stopped_ = false;
};

void wait_for_stop() {
  sigset_t stops;
  ::sigemptyset(&stops);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaddset(&stops, signal);
  ::pthread_sigmask(SIG_BLOCK, &stops, nullptr);
  int arrived = 0;
  ::sigwait(&stops, &arrived);
}

}  // namespace

po::options_description live_options() {
  po::options_description options("Live");
  options.add_options()("live", "watch a target, and serve its report while it runs");
  options.add_options()("port", po::value<unsigned>()->value_name("N"),
                        "with --live: serve at this port of 127.0.0.1 (default: a free one)");
  return options;
}

bool is_live_report(const Arguments& arguments) {
  const auto own = std::find(arguments.begin(), arguments.end(), "--");
  return std::find(arguments.begin(), own, "--live") != own;
}

int run_live_report(const Arguments& arguments) {
  LiveOptions options;
  Extension extension = make_live_extension(options);
  const Probe& probe = set_probes(extension, arguments);
  std::optional<Request> request = read_request(probe, arguments, &extension);
  if (!request) return 0;
  require_events(probe, *request);
  PageServer server(options.port);
  LiveReport report(options.plan, server);
  RecordOptions& record = options.record;
  record.file = [&] {
    return report.watch(request->output.empty()
                            ? private_recording()
                            : recording_file(request->output, request->readers));
  };
  record.learn = [&](const std::vector<Module>& modules) { report.learn(modules); };
  LiveRecorder recorder(record, *request, report, server.address());
  const int code = run_request(probe, *request, &recorder);
  if (!recorder.was_stopped()) wait_for_stop();
  return code;
}

}  // namespace memflame
