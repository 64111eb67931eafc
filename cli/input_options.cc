// SPDX-License-Identifier: BSD-2-Clause
#include "cli/input_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <ostream>
#include <thread>

#include "cli/completed.h"
#include "cli/files/heaptrack_input.h"
#include "cli/options.h"
#include "cli/runs/durations.h"
#include "cli/select_options.h"
#include "cli/store_input.h"
#include "collapse/format_names.h"
#include "collapse/text/issues.h"
#include "core/error.h"
#include "core/units.h"
#include "fleet/clickhouse/question.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

uint64_t number_of(std::string_view text, const std::string& whole) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size())
    throw Error("--snapshot takes N, or N..M for a difference, not '" + whole + "'",
                ExitCode::usage);
  return number;
}

WhichSnapshot snapshot_of(const std::string& text) {
  const size_t dots = text.find("..");
  if (dots == std::string::npos)
    return {.kind = WhichSnapshot::Kind::number, .first = number_of(text, text)};
  return {.kind = WhichSnapshot::Kind::difference,
          .first = number_of(std::string_view(text).substr(0, dots), text),
          .second = number_of(std::string_view(text).substr(dots + 2), text)};
}

uint64_t time_of(const std::string& text) {
  const std::optional<uint64_t> ns = parse_nanoseconds_of_run(text);
  if (!ns)
    throw Error("--at '" + text + "': expected a time since the run began, like 90, 1m30s or 2h",
                ExitCode::usage);
  return *ns;
}

// "live, total or growth"
std::string listed(const std::vector<std::string>& words) {
  std::string list;
  for (size_t i = 0; i < words.size(); ++i)
    list += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return list;
}

// Which time of a recording; `which` of them if --at names several.
HistoryRange range_of(const po::variables_map& values, size_t which) {
  HistoryRange range;
  std::vector<std::string> at;
  std::string between, view;
  take(values, "at", at);
  take(values, "between", between);
  take(values, "view", view);
  if (!at.empty() && !between.empty())
    throw Error("--at and --between are mutually exclusive", ExitCode::usage);
  if (which < at.size()) range.at_ns = time_of(at[which]);
  if (!between.empty()) {
    const TimeStretch stretch = parse_stretch(between);
    range.from_ns = stretch.from_ns;
    range.until_ns = stretch.until_ns;
  }
  if (!view.empty() && !parse_view(view, range.view))
    throw Error("--view takes " + listed(view_names()) + ", not '" + view + "'", ExitCode::usage);
  return range;
}

ValueType type_of(const std::string& unit) {
  ValueType type{.name = unit};
  if (!parse_unit(unit, type.unit))
    throw Error("--unit takes bytes, pages, count or nanoseconds, not '" + unit + "'",
                ExitCode::usage);
  return type;
}

std::vector<std::string> paths_of(const po::variables_map& values) {
  if (values.count("input") == 0) return {"-"};
  return values["input"].as<std::vector<std::string>>();
}

bool given(const po::variables_map& values, const char* name) {
  return values.count(name) != 0 && values[name].as<bool>();
}

// Options that define what the figures are, and that only some formats accept.
struct FormatOption {
  const char* name;
  std::array<std::string_view, 8> formats;
};
constexpr std::array format_options{
    FormatOption{"snapshot", {"massif", "memleak"}},
    FormatOption{"at", {"memflame-recording"}},
    FormatOption{"between", {"memflame-recording"}},
    FormatOption{"view", {"memflame-recording"}},
    FormatOption{"columns", {"folded"}},
    FormatOption{"event", {"perf-script", "perf-data"}},
    FormatOption{"weight", {"perf-script", "perf-data"}},
    FormatOption{"net", {"perf-script"}},
    FormatOption{"unit",
                 {"folded", "perf-script", "bpftrace", "bpftrace-json", "bcc-stacks", "systemtap",
                  "dtrace", "speedscope"}},
};

// Selections of blocks go with recordings only.
void require_blocks(const ReadOptions& options, std::string_view format, const std::string& path) {
  if (options.selection.empty() || format == "memflame-recording") return;
  const std::string begin =
      path + ": " + options.selection.where.front().label + " selects single blocks, but ";
  if (format == "heaptrack") throw Error(begin + std::string(heaptrack_has_sums), ExitCode::usage);
  throw Error(begin + "this is " + std::string(format) +
                  ", which has sums; 'memflame record --detail events' keeps every block",
              ExitCode::usage);
}

// Refuses an option that the format does not accept, instead of ignoring it.
void require_format(const po::variables_map& values, std::string_view format,
                    const std::string& path) {
  for (const auto& [name, formats] : format_options) {
    const bool is_given = values.count(name) != 0 && !values[name].defaulted();
    if (!is_given || std::find(formats.begin(), formats.end(), format) != formats.end()) continue;
    std::string known;
    for (size_t i = 0; i < formats.size() && !formats[i].empty(); ++i) {
      const bool is_last = i + 1 == formats.size() || formats[i + 1].empty();
      ((known += i == 0 ? "" : is_last ? " and " : ", ")) += formats[i];
    }
    const bool has_times = known == "memflame-recording" && format == "heaptrack";
    throw Error(path + ": --" + name + " goes with " + known + ", but this is " +
                    std::string(format) + (has_times ? ": " + std::string(heaptrack_has_sums) : ""),
                ExitCode::usage);
  }
}

// The options that only the compatible mode has.
void take_compat(const po::variables_map& values, ReadOptions& options) {
  options.compat = values.count("compat") != 0;
  if (!options.compat) {
    for (const char* name : {"kernel", "jit", "all", "inline", "context", "srcline", "addrs"})
      if (given(values, name))
        throw Error("--" + std::string(name) + " needs --compat flamegraph", ExitCode::usage);
    if (values.count("event-filter") != 0)
      throw Error("--event-filter needs --compat flamegraph; else it is --event", ExitCode::usage);
    return;
  }
  const auto like = values["compat"].as<std::string>();
  if (like != "flamegraph")
    throw Error("--compat takes flamegraph, not '" + like + "'", ExitCode::usage);
  options.mark_kernel = given(values, "kernel") || given(values, "all");
  options.mark_jit = given(values, "jit") || given(values, "all");
  options.mark_inlined = given(values, "inline");
  options.context = given(values, "context");
  options.lines = given(values, "srcline") || wants_lines(values);
  options.addresses |= given(values, "addrs");
  if (values.count("event-filter") != 0)
    options.events = {values["event-filter"].as<std::string>()};
}

std::vector<std::string> format_words() {
  std::vector<std::string> words;
  for (const Input& input : inputs()) words.emplace_back(input.name);
  for (const FormatFamily& family : format_families()) words.emplace_back(family.name);
  return words;
}

}  // namespace

po::options_description input_options() {
  po::options_description options("Input");
  auto add = options.add_options();
  add("from", one_of("FORMAT", format_words()),
      "format of the input (default: recognised by its content)");
  add("value", po::value<std::string>()->value_name("NAME"),
      "figures to use, one of those that --list shows");
  add("list", po::bool_switch(), "only list the figures of the input");
  add("unit", one_of("UNIT", {"bytes", "pages", "count", "nanoseconds"}),
      "unit of a text without one: bytes, pages, count, nanoseconds");
  add("columns", po::value<size_t>()->value_name("N"),
      "numbers at the end of a line of folded text (default: one, or two if all lines have two)");
  add("snapshot", po::value<std::string>()->value_name("N"),
      "the N-th of several states in one file, or N..M: their difference (default: the last, "
      "or the marked peak)");
  add("at", po::value<std::vector<std::string>>()->composing()->value_name("TIME"),
      "recordings: the figures at this time of the run (90, 1m30s, 2h; default: at its end)");
  add("between", po::value<std::string>()->value_name("TIME..TIME"),
      "recordings: what changed from one time to another");
  add("view", one_of("VIEW", view_names()),
      "recordings: live or total at a time; growth in a stretch of time; survivors: what was "
      "allocated in it and is still live. With events also leaked, peak, freed, transient (freed "
      "by "
      "the next heap call of its thread), churn (allocated and freed within the time)");
  add("pid", po::bool_switch(), "put the process id into the root frame: name-pid");
  add("tid", po::bool_switch(),
      "put the process id and the thread id into the root frame: name-pid/tid");
  add("no-comm", po::bool_switch(), "no frame for the name of the program");
  add("addresses", po::bool_switch(), "show addresses in place of unknown names");
  add("offsets", po::bool_switch(), "offsets into functions");
  add("no-symbols", po::bool_switch(),
      "addresses: do not open the files that the input names, to look up names");
  add("event", po::value<std::vector<std::string>>()->composing()->value_name("EVENT"),
      "perf: only this event (may be given several times)");
  add("weight", po::value<std::string>()->value_name("FIELD"),
      "perf: the field of the event to add up (bytes_req)");
  add("net", po::bool_switch(), "perf: allocations minus frees");
  add("refuse-truncated", po::bool_switch(), "fail if the last stack ends in the middle");
  add("max-frames", po::value<size_t>()->value_name("N"),
      "frames of a stack to keep, from its root; the others become one (default: 1000000)");
  add("threads", po::value<unsigned>()->value_name("N"), "processor cores to use (default: all)");
  add("strict", po::bool_switch(), "fail, and write nothing, if anything is not understood");
  return options;
}

po::options_description compat_options() {
  po::options_description options("Exactly as FlameGraph's collapsers print it, with their losses");
  auto add = options.add_options();
  add("compat", one_of("TOOL", {"flamegraph"}),
      "flamegraph: as stackcollapse-perf.pl (--pid, --tid too) and stackcollapse.pl do");
  add("kernel", po::bool_switch(), "mark kernel functions with _[k]");
  add("jit", po::bool_switch(), "mark functions made at run time with _[j]");
  add("all", po::bool_switch(), "both");
  add("inline", po::bool_switch(), "ask addr2line for inlined functions");
  add("context", po::bool_switch(), "their source lines too");
  add("srcline", po::bool_switch(), "source lines that 'perf script -F +srcline' prints");
  add("addrs", po::bool_switch(), "show addresses in place of unknown names");
  add("event-filter", po::value<std::string>()->value_name("EVENT"),
      "only this event, not the first one");
  return options;
}

po::options_description input_files() {
  po::options_description hidden;
  hidden.add_options()("input", po::value<std::vector<std::string>>());
  return hidden;
}

unsigned threads_of(const po::variables_map& values) {
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  take(values, "threads", threads);
  if (threads == 0 || threads > 1024)
    throw Error("--threads takes a number from 1 to 1024", ExitCode::usage);
  return threads;
}

std::string recording_named(const po::variables_map& values, const std::string& command,
                            const std::string& usage) {
  std::vector<std::string> inputs;
  take(values, "input", inputs);
  if (inputs.size() != 1)
    throw Error(command + " needs one recording: memflame " + command + " " + usage,
                ExitCode::usage);
  return inputs.front();
}

size_t times_of(const po::variables_map& values) {
  return values.count("at") == 0 ? 0 : values["at"].as<std::vector<std::string>>().size();
}

ReadOptions read_options(const po::variables_map& values, size_t time) {
  ReadOptions options;
  options.history = range_of(values, time);
  options.selection = query_of(values);
  std::string unit, snapshot;
  take(values, "unit", unit);
  take(values, "snapshot", snapshot);
  if (!unit.empty()) options.type = type_of(unit);
  if (!snapshot.empty()) options.snapshot = snapshot_of(snapshot);
  options.threads = threads_of(values);
  options.in_order = values["flamechart"].as<bool>();
  options.comm = !values["no-comm"].as<bool>();
  options.symbols = !values["no-symbols"].as<bool>();
  take(values, "pid", options.pid);
  take(values, "tid", options.tid);
  take(values, "columns", options.columns);
  take(values, "max-frames", options.max_frames);
  if (options.max_frames == 0)
    throw Error("--max-frames must be at least 1, not 0", ExitCode::usage);
  take(values, "addresses", options.addresses);
  take(values, "offsets", options.offsets);
  options.lines = true;
  take(values, "event", options.events);
  take(values, "weight", options.weight);
  take(values, "net", options.net);
  take(values, "refuse-truncated", options.refuse_truncated);
  take_compat(values, options);
  return options;
}

void choose_value(Profile& profile, const std::string& value) {
  std::string known;
  for (size_t i = 0; i < profile.types.size(); ++i) {
    if (profile.types[i].unit == Unit::variance) continue;
    if (profile.types[i].name == value) {
      profile.shown = i;
      return;
    }
    known += (known.empty() ? "" : ", ") + profile.types[i].name;
  }
  throw Error("there is no value '" + value + "' in the input; it has " + known, ExitCode::usage);
}

Profile read_input(const std::string& path, const po::variables_map& values,
                   const ReadOptions& options) {
  std::string from, value;
  take(values, "from", from);
  take(values, "value", value);
  if (is_store_address(path)) {
    Profile profile = read_store(path, values, options);
    if (!value.empty()) choose_value(profile, value);
    return profile;
  }
  const bool may_be_raw = from.empty() || from == "heaptrack";
  Source source = may_be_raw ? open_input(path, {.files = options.symbols,
                                                 .refuse_truncated = options.refuse_truncated})
                             : Source::open(path);
  if (is_recording(source.head()) && may_be_raw) from.clear();
  const Input& input = input_for(source, from);
  require_format(values, input.name, source.name());
  require_blocks(options, input.name, source.name());
  Profile profile = read_as(input, source, options);
  // There may be several inputs, so the note names its own.
  for (std::string& note : profile.meta.notes)
    if (tells_of_issue(note) && note.front() >= '0' && note.front() <= '9')
      note.insert(0, source.name() + ": ");
  if (!value.empty()) choose_value(profile, value);
  return profile;
}

void require_nothing_lost(const Profile& profile, const po::variables_map& values) {
  if (!values["strict"].as<bool>() || !profile.losses.any()) return;
  const auto& notes = profile.meta.notes;
  const auto issue = std::find_if(notes.begin(), notes.end(), tells_of_issue);
  if (issue != notes.end()) throw Error("--strict: " + *issue, ExitCode::lossy);
  for (size_t i = 0; i < loss_info.size(); ++i)
    if (loss_info[i].kind != LossKind::news && profile.losses[static_cast<Loss>(i)].events != 0)
      throw Error(
          "--strict: " + std::string(loss_info[i].kind == LossKind::cut ? "cut stacks, " : "") +
              std::string(loss_info[i].label),
          ExitCode::lossy);
}

Profile read_inputs(const po::variables_map& values, bool code, bool verdicts) {
  if (times_of(values) > 1)
    throw Error("--at takes one time here; memflame diff FILE --at T --at T compares two",
                ExitCode::usage);
  const std::vector<std::string> paths = paths_of(values);
  ReadOptions options = read_options(values);
  options.code = code;
  options.verdicts = verdicts && paths.size() == 1;
  Profile profile = read_input(paths.front(), values, options);
  for (size_t i = 1; i < paths.size(); ++i) merge(profile, read_input(paths[i], values, options));
  require_nothing_lost(profile, values);
  return profile;
}

void list_profile(std::ostream& out, const Profile& profile) {
  for (size_t i = 0; i < profile.types.size(); ++i) {
    const ValueType& type = profile.types[i];
    if (type.unit == Unit::variance) continue;
    const int64_t total = profile.total(i);
    out << type.name << '\t' << name(type.unit) << '\t' << plain(total, type.decimals) << '\t'
        << human(total, type) << (i == profile.shown ? "\tdefault" : "") << '\n';
  }
}

std::vector<NameTable> input_formats() {
  NameTable formats{.title = "Formats for --from"};
  for (const Input& input : inputs())
    formats.rows.push_back({std::string(input.name), std::string(input.help)});
  NameTable families{.title = "Families: the input tells which format it is"};
  for (const FormatFamily& family : format_families()) {
    NameRow row{.name = std::string(family.name), .meaning = {}};
    for (const std::string_view format : family.formats)
      row.meaning.append(row.meaning.empty() ? "" : ", ").append(format);
    families.rows.push_back(std::move(row));
  }
  return {formats, families};
}

}  // namespace memflame
