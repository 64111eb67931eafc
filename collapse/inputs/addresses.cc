// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/addresses.h"

#include <algorithm>

#include "collapse/fold/fold.h"
#include "collapse/inputs/scan.h"
#include "collapse/symbolize/symbolize.h"

namespace memflame {
namespace {

constexpr SpaceId process{1};

ModuleKind kind_of(const MapsRow& row) {
  // "[vdso]" counts as a missing file: this kernel's may differ.
  return row.path.starts_with('/') || row.path == "[vdso]" ? ModuleKind::file
                                                           : ModuleKind::anonymous;
}

}  // namespace

Profile named(Recording recording, const ReadOptions& options) {
  Places places = find_places(recording);
  return named(std::move(recording), std::move(places), options, false);
}

Profile named(Recording recording, Places places, const ReadOptions& options, bool same_kernel) {
  SymbolSources sources;
  sources.files = sources.debug_servers = options.symbols;
  sources.code = options.code;
  if (!options.symbols || !same_kernel) sources.kallsyms_path.clear();
  symbolize(recording, std::move(places), sources);
  return fold(recording, {.lines = options.lines, .code = options.code, .as_recorded = true});
}

bool take_addresses(std::string_view text, std::vector<uint64_t>& addresses) {
  addresses.clear();
  Scan scan{text};
  while (true) {
    const size_t before = scan.rest.size();
    scan.blanks();
    if (scan.rest.empty()) return true;
    uint64_t address = 0;
    scan.literal("0x");
    if (scan.rest.size() == before || !scan.hex(address)) return false;
    addresses.push_back(address);
  }
}

AddressStacks::AddressStacks(const Source& source) : unchanged_since_ns_(source.changed_ns()) {
  recording_.spaces.emplace_back();
}

void AddressStacks::map(std::string_view line, size_t number, Issues& issues) {
  MapsRow row;
  const MapsText::Line found = text_.take(line, row);
  if (found == MapsText::Line::damaged)
    return issues.add("not a mapping as in /proc/PID/maps", number, line);
  if (found == MapsText::Line::nothing) return;
  mapped_ = true;
  if (!row.executable || row.path == "[vsyscall]") return;
  recording_.spaces[process.index].mappings.push_back(
      {.start = row.start, .end = row.end, .offset = row.offset, .module = module(row)});
}

ModuleId AddressStacks::module(const MapsRow& row) {
  const auto [known, added] = modules_.try_emplace({row.path, row.inode});
  if (!added) return known->second;
  known->second = ModuleId{next_index(recording_.modules.size())};
  Module& module = recording_.modules.emplace_back();
  module.path = row.path;
  module.kind = kind_of(row);
  module.device = row.device;
  module.inode = row.inode;
  module.any_inode = !row.has_inode;
  module.unchanged_since_ns = unchanged_since_ns_;
  return known->second;
}

void AddressStacks::add(std::string_view root, std::span<const uint64_t> addresses,
                        std::span<const int64_t> values) {
  Aggregate& sum = recording_.sums.emplace_back();
  sum.stack = RawStackId{next_index(recording_.stacks.size())};
  sum.group = root;
  sum.values.assign(values.begin(), values.end());
  RawStack& stack = recording_.stacks.emplace_back();
  stack.space = process;
  stack.pcs.reserve(addresses.size());
  for (const uint64_t address : addresses) stack.pcs.push_back({address, true});
}

// A process has one thing at an address at a time. If two mappings claim it, neither can be
// trusted; the one listed first stays, so that an address is looked up in one place only.
void AddressStacks::drop_overlaps(Issues& issues) {
  std::vector<Mapping>& mappings = recording_.spaces[process.index].mappings;
  std::stable_sort(mappings.begin(), mappings.end(),
                   [](const Mapping& a, const Mapping& b) { return a.start < b.start; });
  uint64_t end = 0;
  std::erase_if(mappings, [&](const Mapping& mapping) {
    if (mapping.start < end) {
      issues.add("mappings that overlap others", 0, recording_.modules[mapping.module.index].path);
      return true;
    }
    end = mapping.end;
    return false;
  });
}

Profile AddressStacks::take(const ReadOptions& options, Issues& issues) {
  drop_overlaps(issues);
  recording_.types = types;
  if (!mapped_ && !empty())
    recording_.meta.notes.emplace_back(
        "the input does not tell what was mapped where: addresses have no names");
  return named(std::move(recording_), options);
}

}  // namespace memflame
