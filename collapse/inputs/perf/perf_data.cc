// SPDX-License-Identifier: BSD-2-Clause
// Reads the samples of perf.data without perf, from a file or as `perf record -o -` writes it to a
// pipe.
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "collapse/inputs/addresses.h"
#include "collapse/inputs/perf/perf_data_stacks.h"
#include "collapse/inputs/readers.h"
#include "collapse/symbolize/kallsyms.h"
#include "collapse/text/issues.h"
#include "core/elf/build_id.h"
#include "core/perf_map.h"
#include "core/units.h"

namespace memflame {
namespace {

constexpr std::string_view kernel_file = "[kernel.kallsyms]";

// The build id of the running kernel, "" if unknown.
std::string kernel_build_id() {
  const std::string notes = read_text("/sys/kernel/notes");
  const Bytes id = build_id_in(std::as_bytes(std::span(notes)), 4);
  return perf_build_id({reinterpret_cast<const char*>(id.data()), id.size()});
}

// Address of a symbol of the running kernel; 0 if it hides them or has none of that name.
uint64_t kernel_symbol(const std::string& name) {
  const std::string text = read_text("/proc/kallsyms");
  for (const char* const type : {" T ", " t ", " A "}) {
    const size_t at = text.find(type + name + "\n");
    if (at == std::string::npos || name.empty()) continue;
    const size_t line = text.rfind('\n', at) + 1;
    uint64_t address = 0;
    std::from_chars(text.data() + line, text.data() + at, address, 16);
    return address;
  }
  return 0;
}

class PerfDataReader {
 public:
  PerfDataReader(Source& source, const ReadOptions& options)
      : source_(source),
        options_(options),
        processes_(recording_, source.changed_ns()),
        stacks_(recording_, processes_, options) {}

  Profile run() {
    file_ = read_perf_file(source_);
    check_events();
    if (!file_.cut.empty() && options_.refuse_truncated) source_.fail(file_.cut);
    make_columns();
    try {
      for (const PerfRecord& record : file_.records) take(record);
    } catch (const Error& error) {
      source_.fail(error.what());
    }
    if (recording_.sums.empty()) source_.fail(why_empty());
    const bool same_kernel = is_same_kernel();
    identify_modules();
    read_perf_maps();
    Places places = stacks_.take();
    if (!places.kernel.empty() && !same_kernel && options_.symbols)
      recording_.meta.notes.emplace_back(
          "kernel names unknown: the kernel that runs here is not the one that was recorded, or "
          "hides its addresses");
    describe();
    Profile profile = named(std::move(recording_), std::move(places), options_, same_kernel);
    issues_.finish(profile);
    return profile;
  }

 private:
  void check_events() const {
    if (file_.events.empty()) source_.fail("it has no events");
    for (const PerfEvent& event : file_.events)
      if ((event.attr.sample_type & PERF_SAMPLE_STACK_USER) != 0)
        source_.fail(
            "its stacks are not unwound (--call-graph dwarf); use: perf script | memflame "
            "collapse");
    if (!options_.weight.empty())
      source_.fail(
          "fields of events are not read from it; use: perf script | memflame collapse "
          "--weight " +
          options_.weight);
  }

  bool is_wanted(const std::string& name) const {
    return options_.events.empty() ||
           std::find(options_.events.begin(), options_.events.end(), name) != options_.events.end();
  }

  // One column for each name; "dummy" only carries process records.
  void make_columns() {
    for (const PerfEvent& event : file_.events) {
      column_of_event_.push_back(no_column);
      if (!is_wanted(event.name) || event.name.starts_with("dummy")) continue;
      std::vector<ValueType>& types = recording_.types;
      const auto same = [&](const ValueType& type) { return type.name == event.name; };
      const auto at = std::find_if(types.begin(), types.end(), same);
      column_of_event_.back() = static_cast<size_t>(at - types.begin());
      if (at != types.end()) continue;
      const bool is_time =
          event.name.starts_with("cpu-clock") || event.name.starts_with("task-clock");
      types.push_back({event.name, is_time ? Unit::nanoseconds : Unit::count});
    }
    if (!recording_.types.empty()) return;
    std::string known;
    for (const PerfEvent& event : file_.events) known += (known.empty() ? "" : ", ") + event.name;
    source_.fail("it has no event of that name; it has " + known);
  }

  void take(const PerfRecord& record) {
    PerfBytes bytes(record.body);
    switch (record.type) {
      case PERF_RECORD_SAMPLE:
        return take_sample(record);
      case PERF_RECORD_LOST:
        bytes.number<uint64_t>();
        return lose(bytes.number<uint64_t>());
      case PERF_RECORD_LOST_SAMPLES:
        return lose(bytes.number<uint64_t>());
      default:
        if (!processes_.take(record)) issues_.add("a damaged record", 0, "of a process");
    }
  }

  void take_sample(const PerfRecord& record) {
    const size_t event = file_.event_of(record);
    if (event >= file_.events.size())
      return issues_.add("a sample of an event that is not in the file", 0, "sample");
    if (column_of_event_[event] == no_column) return;
    if (!parse_perf_sample(record, file_.events[event].attr, sample_))
      return issues_.add("a damaged record", 0, "sample");
    stacks_.add(sample_, column_of_event_[event]);
    first_ns_ = std::min(first_ns_, record.time);
    last_ns_ = std::max(last_ns_, record.time);
  }

  void lose(uint64_t events) {
    if (__builtin_add_overflow(lost_, events, &lost_)) lost_ = UINT64_MAX;
  }

  std::string why_empty() const {
    std::string why = "it has no samples";
    if (!file_.cut.empty()) why += "; " + file_.cut;
    return issues_.any() ? why + "; " + issues_.texts().front() : why;
  }

  // Kernel addresses change with each boot.
  bool is_same_kernel() const {
    if (!options_.symbols) return false;
    utsname system{};
    if (::uname(&system) != 0 || (!file_.release.empty() && file_.release != system.release))
      return false;
    const auto id = file_.build_ids.find(kernel_file);
    if (id != file_.build_ids.end() && id->second != kernel_build_id()) return false;
    const PerfProcesses::Kernel& kernel = processes_.kernel();
    return kernel.address != 0 && kernel_symbol(kernel.symbol) == kernel.address;
  }

  // At its end perf writes the build ids of files with samples, by name: a build id is that of the
  // file that has the name then.
  void identify_modules() {
    std::map<std::string_view, size_t> of_name;
    for (const Module& module : recording_.modules) ++of_name[module.path];
    for (Module& module : recording_.modules) {
      const auto id = file_.build_ids.find(module.path);
      if (id == file_.build_ids.end() || of_name[module.path] != 1) continue;
      if (module.build_id.empty()) module.build_id = id->second;
      if (module.path == "[vdso]") module.kind = ModuleKind::vdso;
    }
  }

  void read_perf_maps() {
    if (!options_.symbols) return;
    for (const auto& [pid, space] : stacks_.with_jit()) {
      std::optional<std::string> map = read_perf_map("", static_cast<pid_t>(pid), ::geteuid());
      if (!map) continue;
      recording_.spaces[space.index].perf_map = std::move(*map);
      recording_.meta.notes.push_back("names of code made at run time are from " +
                                      perf_map_path(static_cast<pid_t>(pid)) + " as it is now");
    }
  }

  void describe() {
    Meta& meta = recording_.meta;
    meta.command = file_.command;
    meta.host = file_.host;
    if (last_ns_ > first_ns_) meta.seconds = static_cast<double>(last_ns_ - first_ns_) / 1e9;
    for (size_t i = 0; i < file_.events.size(); ++i)
      if (column_of_event_[i] != no_column) describe_event(file_.events[i]);
    if (!file_.cut.empty())
      meta.notes.push_back(source_.name() + " is not whole (" + file_.cut + ")");
    if (lost_ != 0) {
      meta.notes.push_back("perf lost " +
                           with_commas(static_cast<int64_t>(std::min<uint64_t>(lost_, INT64_MAX))) +
                           " records");
      recording_.losses.add(Loss::ring_full, lost_);
    }
  }

  void describe_event(const PerfEvent& event) {
    const auto rate = static_cast<int64_t>(std::min<uint64_t>(event.attr.sample_period, INT64_MAX));
    if (event.attr.freq == 0 && rate <= 1) return;
    std::string& text = recording_.meta.sampling;
    const std::string what = event.attr.freq != 0
                                 ? event.name + " " + with_commas(rate) + " times a second"
                                 : "1 in " + with_commas(rate) + " " + event.name;
    if (text.find(what) == std::string::npos) text += (text.empty() ? "" : ", ") + what;
  }

  Source& source_;
  const ReadOptions& options_;
  PerfFile file_;
  Recording recording_;
  PerfProcesses processes_;
  PerfStacks stacks_;
  PerfSample sample_;
  Issues issues_;
  std::vector<size_t> column_of_event_;
  uint64_t lost_ = 0, first_ns_ = UINT64_MAX, last_ns_ = 0;
};

}  // namespace

bool is_perf_data(std::string_view head) {
  constexpr std::array<std::string_view, 3> magics{"PERFILE2", "2ELIFREP", "PERFFILE"};
  return std::any_of(magics.begin(), magics.end(),
                     [&](std::string_view magic) { return head.starts_with(magic); });
}

Profile read_perf_data(Source& source, const ReadOptions& options) {
  return PerfDataReader(source, options).run();
}

}  // namespace memflame
