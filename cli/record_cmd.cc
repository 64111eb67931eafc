// SPDX-License-Identifier: BSD-2-Clause
// memflame record: figures over time, in a file.
#include "cli/probe_request.h"
#include "cli/record_options.h"
#include "cli/runs/recorder.h"
#include "core/error.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

Extension make_extension(RecordOptions& options) {
  Extension extension;
  extension.command = "record";
  CommandPage& page = extension.page;
  page.name = extension.command;
  page.help = "record the figures of one or more probes over time";
  page.usages = {"-p PID[,PID...] | --comm NAME -o FILE.mfr",
                 "--cgroup PATH | --container ID | --unit NAME -o FILE.mfr",
                 "-o FILE.mfr -- COMMAND ARGS"};
  page.description =
      "Looks at the figures of the probes every second and writes what has changed to FILE, until "
      "the\n"
      "target ends or Ctrl-C. FILE shows when memory came and whether it goes again: 'memflame\n"
      "timeline FILE', 'memflame leaks --from FILE', 'memflame render FILE --at 90'. It can be "
      "read\n"
      "while it grows, and after memflame was killed.";
  page.examples = {
      {"memflame record -p 1234 -o server.mfr", "record who allocates until Ctrl-C"},
      {"memflame record --detail events -o all.mfr -- ./server", "the story of each block"},
      {"memflame record --max-file 64M -p 1234 -o week.mfr", "for days"},
      {"memflame record --probes fault -o rss.mfr -- ./server",
       "who makes pages resident, from the start of a program"},
      {"memflame record --probes alloc,brk,mmap,fault -p 1234 -o all.mfr",
       "everything at once: is it the heap, or memory beside it?"}};
  page.operands = Operands::command;
  extension.draws = false;
  extension.visible.add(record_options());
  extension.read = [&options](const po::variables_map& values, Request& request) {
    read_record_options(values, options, request);
    if (request.output.empty() || request.output == "-")
      throw Error("memflame record writes a file: add -o FILE.mfr", ExitCode::usage);
  };
  return extension;
}

}  // namespace

CommandPage record_page() {
  RecordOptions unused;
  const Extension extension = make_extension(unused);
  return page_of(*probes().front(), &extension);
}

int run_record(const Arguments& arguments) {
  RecordOptions options;
  Extension extension = make_extension(options);
  const Probe& probe = set_probes(extension, arguments);
  std::optional<Request> request = read_request(probe, arguments, &extension);
  if (!request) return 0;
  require_events(probe, *request);
  Recorder recorder(options, *request);
  return run_request(probe, *request, &recorder);
}

}  // namespace memflame
