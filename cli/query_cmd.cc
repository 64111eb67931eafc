// SPDX-License-Identifier: BSD-2-Clause
// memflame query: what the options of other commands do not ask for, in SQL.
#include <csignal>
#include <iostream>
#include <optional>

#include "cli/commands.h"
#include "cli/completed.h"
#include "cli/files/heaptrack_input.h"
#include "cli/files/output_file.h"
#include "cli/input_options.h"
#include "cli/options.h"
#include "cli/written_profile.h"
#include "collapse/history/named.h"
#include "collapse/query/export.h"
#include "collapse/query/query_database.h"
#include "collapse/query/query_run.h"
#include "collapse/query/query_tables.h"
#include "collapse/select/event_blocks.h"
#include "collapse/source/source.h"
#include "core/error.h"
#include "core/stop_request.h"
#include "render/query/query_output.h"
#include "render/text/clean_text.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

std::atomic<bool> query_is_stopped = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler sets it

// A signal that ends memflame ends the statement first, so that no half of a file is left. The
// second one ends memflame at once.
void stop_query_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) {
    query_is_stopped = true;
    note_stop();
  };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);
  }
}

// A recording, and what reads its blocks.
class QueriedFile {
 public:
  QueriedFile(const std::string& path, bool anonymise) : source_(open_recording(path)) {
    history_ = read_history(source_, state_);
    name_recording(history_.recording, state_, {.debug_servers = false});
    if (anonymise) {
      history_.recording.meta.command.clear();
      history_.recording.meta.host.clear();
    }
    if (state_.has_events) {
      events_.emplace([this] { return source_.again(); }, history_, state_);
      blocks_.emplace(*events_, history_);
    }
    run_.emplace(
        history_, blocks_ ? &*blocks_ : nullptr,
        [](std::string_view name) {
          uint64_t replaced = 0;
          return clean_text(name, replaced);
        },
        query_is_stopped);
  }

  QueryRun& run() { return *run_; }

  // What the recording lacks, on standard error.
  void warn() const {
    Profile facts;
    facts.meta.notes = history_.recording.meta.notes;
    facts.losses = history_.recording.losses;
    warn_of_losses(facts);
    if (!blocks_) return;
    for (const std::string& note : blocks_->notes()) std::cerr << "memflame: " << note << "\n";
  }

 private:
  Source source_;
  RecordingState state_;
  History history_;
  std::optional<EventFile> events_;
  std::optional<EventBlocks> blocks_;
  std::optional<QueryRun> run_;
};

// Pushes the frames of a stack with their kinds and modules, but without lines.
StackId push_stack_of(QueryRun& run, Profile& into, int64_t number) {
  const auto count = static_cast<int64_t>(run.recording().stacks.size());
  if (number < 1 || number >= count) return {};
  const Profile& from = run.named().profile;
  StackId stack;
  for (const FrameId id : run.path(RawStackId{static_cast<uint32_t>(number)})) {
    const Frame& frame = from.frames[id];
    stack = into.push(stack, from.strings[frame.function], frame.kind, from.strings[frame.module]);
  }
  return stack;
}

struct QueryRequest {
  std::string file, sql, path, format, database;
  bool anonymise = false;
};

void require_together(const QueryRequest& request) {
  if (request.database.empty()) return;
  const char* other = !request.sql.empty()      ? "a statement"
                      : !request.path.empty()   ? "-o"
                      : !request.format.empty() ? "--format"
                                                : nullptr;
  if (other != nullptr)
    throw Error("--export writes all tables, and goes without " + std::string(other),
                ExitCode::usage);
}

QueryRequest query_request(const po::variables_map& values) {
  QueryRequest request;
  std::vector<std::string> words;
  take(values, "input", words);
  if (words.empty() || words.size() > 2)
    throw Error(
        "query takes a recording and one statement in quotes: memflame query FILE.mfr 'select …'",
        ExitCode::usage);
  request.file = words[0];
  if (words.size() == 2) request.sql = words[1];
  if (words.size() == 2 && request.sql.empty())
    throw Error("SQL: the statement is empty; without one the tables are listed", ExitCode::usage);
  take(values, "output", request.path);
  take(values, "format", request.format);
  take(values, "export", request.database);
  request.anonymise = values["anonymise"].as<bool>();
  if (values.count("export") != 0 && request.database.empty())
    throw Error("--export takes the name of a file", ExitCode::usage);
  require_together(request);
  return request;
}

void write_result(QueriedFile& file, const QueryRequest& request) {
  const QueryOutput& output = query_output_for(request.format, request.path);
  const QueryTables tables = tables_of(file.run());
  QueryDatabase database(tables, query_is_stopped);
  QueryResult result = request.sql.empty() ? schema_of(tables) : database.run(request.sql);
  const QueryLooks looks{.push_stack = [&](Profile& into, int64_t number) {
    return push_stack_of(file.run(), into, number);
  }};
  write_output(request.path, [&](std::ostream& out) {
    output.write(out, result, looks);
    if (!request.sql.empty() || output.name != "table") return;
    out << "\nExamples:\n";
    for (const Example& example : query_page().examples) out << "  " << example.command << "\n";
  });
}

void write_database(QueriedFile& file, const QueryRequest& request) {
  const QueryTables tables = tables_of(file.run());
  std::vector<std::string> left_out;
  write_file(request.database, [&](int fd) {
    left_out = export_tables(tables, fd, request.database, query_is_stopped);
  });
  for (const std::string& what : left_out) std::cerr << "memflame: " << what << "\n";
}

po::options_description query_options() {
  po::options_description options("Output");
  std::vector<std::string> words;
  std::string help;
  for (const QueryOutput& output : query_outputs()) {
    words.emplace_back(output.name);
    help += (help.empty() ? "" : ", ") + std::string(output.name);
  }
  help += " (default: by the suffix, or table)";
  auto add = options.add_options();
  add("output,o", po::value<std::string>()->value_name("FILE"),
      "write to FILE; its suffix chooses the format (default: standard output)");
  add("format", memflame::one_of("NAME", words), help.c_str());
  add("export", po::value<std::string>()->value_name("FILE"),
      "write all tables to FILE, a database of SQLite, in place of a result");
  add("anonymise", po::bool_switch(),
      "leave out the command line and the host's name; values that look like secrets are always "
      "hidden");
  return options;
}

}  // namespace

CommandPage query_page() {
  CommandPage page{.name = "query", .help = "ask a recording in SQL"};
  page.usages = {"[OPTIONS] FILE 'SELECT …'", "FILE", "--export DATABASE FILE"};
  page.description =
      "Runs one SELECT of SQLite over the tables of a recording: blocks (of recordings with\n"
      "events), stacks, frames, readings and more. Without a statement it lists the tables, their\n"
      "columns and what these mean.";
  page.options = OptionGroups{query_options(), general_options()};
  NameTable formats{.title = "Formats"};
  for (const QueryOutput& output : query_outputs())
    formats.rows.push_back({std::string(output.name), std::string(output.help)});
  page.formats = {formats};
  page.examples = {
      {"memflame query run.mfr", "list the tables and their columns"},
      {"memflame query run.mfr 'select size, count(*) from blocks group by size order by 2 desc'",
       "count the blocks of each size"},
      {"memflame query run.mfr --format folded 'select stack, sum(bytes) from blocks where "
       "lifetime_ns < 1e6 group by stack' | memflame render > short.svg",
       "draw what lived less than a millisecond"},
      {"memflame query --export run.sqlite run.mfr", "make a database for other programs"}};
  page.operands = Operands::files;
  return page;
}

int run_query(const Arguments& arguments) {
  const CommandPage page = query_page();
  const po::variables_map values =
      parse(page.name, arguments, all_options(page), input_files(), "input");
  if (values.count("help") != 0) {
    print_help(std::cout, page);
    return 0;
  }
  const QueryRequest request = query_request(values);
  if (request.database.empty()) static_cast<void>(query_output_for(request.format, request.path));
  require_writable(request.database.empty() ? request.path : request.database);
  stop_query_on_signals();
  QueriedFile file(request.file, request.anonymise);
  if (request.database.empty())
    write_result(file, request);
  else
    write_database(file, request);
  file.warn();
  return 0;
}

}  // namespace memflame
