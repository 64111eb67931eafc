// SPDX-License-Identifier: BSD-2-Clause
#include "cli/runs/summary.h"

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/units.h"
#include "render/order/source_lines.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

using Json = nlohmann::ordered_json;

std::string fixed(double value, const char* format) {
  std::array<char, 32> text{};
  // NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): the two callers below pass literals
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

// In the order of StopReason.
constexpr std::array<const char*, bpf::stop_count> stop_names{
    "complete",
#define MEMFLAME_STOP(name, label, remedy) #name,
#include "core/stops.def"
#undef MEMFLAME_STOP
};

constexpr const char* word_for(LossKind kind) {
  switch (kind) {
    case LossKind::missing:
      return "lost";
    case LossKind::cut:
      return "cut";
    case LossKind::news:
      break;
  }
  return "news";
}

// Losses by cause, and cut stacks, with the likely cause and the remedy.
void write_losses(std::ostream& out, const Losses& losses) {
  out << "memflame: lost " << with_commas(static_cast<int64_t>(losses.lost_events()));
  const LossCount cut = losses.sum(LossKind::cut);
  if (cut.events != 0 || cut.bytes != 0) {
    out << "; " << with_commas(static_cast<int64_t>(cut.events));
    if (cut.bytes != 0) out << " (" << iec_bytes(cut.bytes) << ")";
    out << have_cut_stacks(cut.events);
  }
  out << "\n";
  for (size_t i = 0; i < loss_info.size(); ++i) {
    const LossCount& count = losses[static_cast<Loss>(i)];
    if (count.events == 0 && count.bytes == 0) continue;
    out << "memflame:   " << (loss_info[i].kind == LossKind::cut ? "cut: " : "")
        << loss_info[i].label << ": " << with_commas(static_cast<int64_t>(count.events));
    if (count.bytes != 0) out << " (" << iec_bytes(count.bytes) << ")";
    if (!loss_info[i].remedy.empty()) out << "; " << loss_info[i].remedy;
    out << "\n";
  }
}

const char* stacks_mode(Stacks stacks) {
  switch (stacks) {
    case Stacks::dwarf:
      return "dwarf";
    case Stacks::fp:
      return "fp";
    case Stacks::copy:
      return "copy";
  }
  return "";
}

Json frames_of(const Profile& profile, StackId stack) {
  Json names = Json::array();
  for (const FrameId frame : profile.path(stack))
    names.push_back(profile.strings[profile.frames[frame].function]);
  return names;
}

// The stacks of a finding, by role, outermost frame first.
Json stacks_of(const Profile& profile, const Finding& finding) {
  Json stacks = Json::object();
  if (finding.freeing) stacks["freed"] = frames_of(profile, finding.freeing);
  if (finding.first_freeing) stacks["freed before"] = frames_of(profile, finding.first_freeing);
  if (finding.allocating) stacks["allocated"] = frames_of(profile, finding.allocating);
  return stacks;
}

Json findings_of(const Profile& profile) {
  Json findings = Json::array();
  for (const Finding& finding : profile.findings)
    findings.push_back({{"kind", finding.kind},
                        {"detail", finding.detail},
                        {"events", finding.events},
                        {"bytes", finding.bytes},
                        {"stacks", stacks_of(profile, finding)}});
  return findings;
}

void write_findings(std::ostream& out, const Profile& profile) {
  for (const Finding& finding : profile.findings) {
    out << "memflame: candidate: " << finding.kind
        << (finding.detail.empty() ? "" : " (" + finding.detail + ")") << ", "
        << with_commas(static_cast<int64_t>(finding.events)) << " times\n";
    for (const auto& [role, stack] :
         {std::pair{"freed", finding.freeing}, std::pair{"freed before", finding.first_freeing},
          std::pair{"allocated", finding.allocating}}) {
      if (!stack) continue;
      out << "memflame:   " << role << ":";
      const char* between = " ";
      for (const FrameId id : profile.path(stack)) {
        uint64_t replaced = 0;  // replaced_bytes() counts those of all names
        const Frame& frame = profile.frames[id];
        out << between << clean_text(profile.strings[frame.function], replaced);
        if (frame.file)
          out << " " << clean_text(short_place(profile.strings[frame.file], frame.line), replaced);
        between = ";";
      }
      out << "\n";
    }
  }
}

Json overhead_json(const Overhead& overhead) {
  Json json;
  json["budget"] = overhead.budget;
  json["percent"] = overhead.percent ? Json(*overhead.percent) : Json(nullptr);
  json["recent_percent"] = overhead.recent_percent ? Json(*overhead.recent_percent) : Json(nullptr);
  if (overhead.agent)
    json["prices"] = {{"passed_over_ns", overhead.agent->passed_over},
                      {"sampled_ns", overhead.agent->sampled},
                      {"free_ns", overhead.agent->free}};
  else
    json["prices"] = {{"entry_ns", overhead.prices.entry},
                      {"stepped_ns", overhead.prices.stepped},
                      {"return_ns", overhead.prices.returns}};
  json["changes"] = Json::array();
  for (const RateChange& change : overhead.changes)
    json["changes"].push_back({{"seconds", change.seconds},
                               {"from", change.from},
                               {"to", change.to},
                               {"percent", change.overhead}});
  if (overhead.later_changes != 0) json["later_changes"] = overhead.later_changes;
  json["beyond_control"] = overhead.beyond_control;
  json["probes_percent"] = overhead.probes_percent ? Json(*overhead.probes_percent) : Json(nullptr);
  json["ended_after_seconds"] = overhead.ended_after ? Json(*overhead.ended_after) : Json(nullptr);
  return json;
}

Json probe_json(const ProbeInfo& probe) {
  Json json{{"events", probe.events}, {"lost_events", probe.losses.lost_events()}};
  json["losses"] = Json::object();
  for (size_t i = 0; i < loss_info.size(); ++i) {
    const LossCount& count = probe.losses[static_cast<Loss>(i)];
    if (count.events != 0 || count.bytes != 0)
      json["losses"][std::string(loss_info[i].name)] = {{"events", count.events},
                                                        {"bytes", count.bytes}};
  }
  return json;
}

// With several probes, the totals of all: the first line has only the figure that is drawn.
void write_totals(std::ostream& out, const Profile& profile) {
  const char* before = "memflame: totals: ";
  for (size_t i = 0; i < profile.types.size(); ++i) {
    if (profile.types[i].unit == Unit::variance) continue;
    out << before << profile.types[i].name << " " << human(profile.total(i), profile.types[i]);
    before = ", ";
  }
  out << "\n";
}

// Counts stacks by function, as pictures draw them.
size_t stacks_in(const Profile& profile) {
  return has_lines(profile) ? by_function(profile).touched().size() : profile.touched().size();
}

}  // namespace

void write_summary_json(std::ostream& out, const Profile& profile, const RunInfo& info) {
  Json json;
  json["command"] = profile.meta.command;
  json["host"] = profile.meta.host;
  json["pids"] = info.pids;
  json["duration_seconds"] = info.seconds;
  json["attach_seconds"] = info.attach_seconds;
  json["events"] = info.counters.events;
  for (size_t i = 0; i < profile.types.size(); ++i) {
    if (profile.types[i].unit == Unit::variance) continue;
    json["totals"][profile.types[i].name] = profile.total(i);
    json["units"][profile.types[i].name] = name(profile.types[i].unit);
    if (profile.types[i].variance != no_column)
      json["standard_errors"][profile.types[i].name] = profile.total_error(i);
  }
  for (const ProbeInfo& probe : info.probes) json["probes"][probe.name] = probe_json(probe);
  json["sampling"] = profile.meta.sampling;
  if (info.overhead) json["overhead"] = overhead_json(*info.overhead);
  json["frees"] = {{"seen", info.counters.freed + info.counters.free_misses},
                   {"matched", info.counters.freed},
                   {"matched_bytes", info.counters.freed_bytes},
                   {"inherited", info.counters.inherited_frees},
                   {"unseen", info.counters.unseen_frees},
                   {"unseen_bytes", info.counters.unseen_free_bytes}};
  json["reconciliation"] = Json::array();
  for (const Reconciliation& row : profile.meta.reconciliation) {
    json["reconciliation"].push_back({{"name", row.name},
                                      {"captured", row.captured},
                                      {"os", row.os ? Json(*row.os) : Json(nullptr)}});
    if (!row.captured_is.empty()) json["reconciliation"].back()["captured_is"] = row.captured_is;
  }
  const OsMemory growth = info.os_growth.value_or(OsMemory{});
  for (const auto& [name, bytes] :
       {std::pair{"vm_size", growth.vm_size}, std::pair{"heap", growth.heap},
        std::pair{"rss_anon", growth.rss_anon}, std::pair{"rss_file", growth.rss_file},
        std::pair{"rss_shmem", growth.rss_shmem}, std::pair{"swap", growth.swap},
        std::pair{"stack", growth.stack}})
    json["os_growth"][name] = info.os_growth ? Json(bytes) : Json(nullptr);
  json["os_growth"]["processes_without_end_reading"] = info.without_end;
  for (size_t i = 0; i < loss_info.size(); ++i) {
    const LossCount& count = profile.losses[static_cast<Loss>(i)];
    json["losses"][std::string(loss_info[i].name)] = {
        {"events", count.events}, {"bytes", count.bytes}, {"kind", word_for(loss_info[i].kind)}};
  }
  json["lost_events"] = profile.losses.lost_events();
  json["cut_events"] = profile.losses.sum(LossKind::cut).events;
  json["cut_bytes"] = profile.losses.sum(LossKind::cut).bytes;
  json["stacks"] = {{"mode", stacks_mode(info.mode)},
                    {"captured", info.stacks.captured},
                    {"frames", info.stacks.frames},
                    {"deferred", info.stacks.deferred}};
  for (size_t i = 0; i < stop_names.size(); ++i)
    json["stacks"]["stops"][stop_names.at(i)] = info.stacks.stops.at(i);
  json["unwind"] = {{"tables", info.tables.tables},
                    {"rows", info.tables.rows},
                    {"bytes", info.tables.rows * sizeof(unwind::row)},
                    {"built", info.tables.built},
                    {"from_cache", info.tables.from_cache},
                    {"malformed_entries", info.tables.malformed},
                    {"seconds", info.tables.seconds},
                    {"cache_problem", info.cache_problem}};
  json["kernel_features"] = {{"release", info.features.release},
                             {"uprobe_multi", info.features.uprobe_multi},
                             {"exact_rss_stat", info.features.exact_rss_stat},
                             {"syscall_tracepoints", info.features.syscall_tracepoints}};
  json["kernel_memory_bytes"] = info.map_bytes;
  json["memory"] = {{"limit", info.memory.limit},
                    {"limit_from_free_memory", info.memory.is_chosen},
                    {"own_bytes", info.own_bytes},
                    {"kernel_bytes", info.map_bytes}};
  json["notes"] = profile.meta.notes;
  json["candidates"] = findings_of(profile);
  // File names need not be valid UTF-8; they must not stop the report.
  out << json.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

void write_missing(std::ostream& out, const std::vector<std::string>& notes, const Losses& losses) {
  for (const std::string& note : notes) {
    uint64_t replaced = 0;  // names of processes and files may contain such bytes
    out << "memflame: " << clean_text(note, replaced) << "\n";
  }
  write_losses(out, losses);
}

void write_summary_text(std::ostream& out, const Profile& profile, const RunInfo& info,
                        const std::string& output, bool verbose) {
  const ValueType& type = profile.types[profile.shown];
  out << "memflame: " << type.name << " " << human(profile.total(profile.shown), type);
  if (type.variance != no_column)
    out << " ± " << human(rounded_up(profile.total_error(profile.shown)), type);
  out << " on " << stacks_in(profile) << " stacks, in " << fixed(info.seconds, "%.1f") << " s";
  if (!output.empty() && output != "-") out << " -> " << output;
  out << "\n";
  if (!info.probes.empty()) write_totals(out, profile);
  if (!profile.meta.sampling.empty())
    out << "memflame: estimated from samples (" << profile.meta.sampling << ")"
        << (type.variance != no_column ? "; ± is one standard error" : "") << "\n";
  write_findings(out, profile);
  for (const Reconciliation& row : profile.meta.reconciliation)
    if (row.os) out << "memflame: " << in_words(row) << "\n";
  if (info.without_end != 0)
    out << "memflame: no end figures from the OS for " << info.without_end
        << " process(es) that ended by exec or before they could be read\n";
  write_missing(out, profile.meta.notes, profile.losses);
  if (info.stacks.captured != 0) {
    const uint64_t complete = info.stacks.stops[0];
    out << "memflame: " << with_commas(static_cast<int64_t>(info.stacks.captured))
        << " stacks taken (" << stacks_mode(info.mode) << "), "
        << percent(static_cast<double>(complete), static_cast<double>(info.stacks.captured))
        << " complete, "
        << fixed(
               static_cast<double>(info.stacks.frames) / static_cast<double>(info.stacks.captured),
               "%.1f")
        << " frames on average\n";
  }
  if (!verbose) return;
  if (info.tables.tables != 0 || info.tables.built != 0)
    out << "memflame: unwind tables of " << info.tables.tables << " files, "
        << iec_bytes(static_cast<int64_t>(info.tables.rows * sizeof(unwind::row))) << ", "
        << info.tables.built << " built, " << info.tables.from_cache << " from the cache, in "
        << fixed(1000 * info.tables.seconds, "%.0f") << " ms; " << info.stacks.deferred
        << " stacks walked in user space\n";
  if (!info.cache_problem.empty())
    out << "memflame: unwind tables are not cached: " << info.cache_problem << "\n";
  out << "memflame: kernel " << info.features.release
      << (info.features.uprobe_multi ? ", uprobe_multi" : ", perf-event uprobes")
      << (info.features.exact_rss_stat ? ", exact rss_stat" : ", rss_stat batched per task")
      << (info.features.syscall_tracepoints ? "" : ", no tracefs: raw tracepoints")
      << "; attached in " << fixed(1000 * info.attach_seconds, "%.0f") << " ms; tables "
      << iec_bytes(static_cast<int64_t>(info.map_bytes)) << ", memflame's own memory "
      << iec_bytes(static_cast<int64_t>(info.own_bytes)) << "\n";
}

}  // namespace memflame
