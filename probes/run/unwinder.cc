// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/unwinder.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/units.h"
#include "probes/processes/program_files.h"

namespace memflame {
namespace {

constexpr uint32_t copies_per_change = 8192;  // the room in the ring limits them first

// Rows for files that are mapped later: enough for some large libraries. What a command or the
// whole system will map is unknown, so these get a 256th of the machine's memory, within limits.
uint64_t spare_rows(bool for_anything) {
  constexpr uint64_t least = 1 << 20;
  constexpr uint64_t most = 4 << 20;
  if (!for_anything) return least;
  const auto pages = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES));
  return std::clamp(pages * page_bytes / 256 / sizeof(unwind::row), least, most);
}

// The mapping that holds an address; null if none does. `code` is sorted, without overlaps.
const Mapping* mapping_at(std::span<const Mapping> code, uint64_t address) {
  const auto after =
      std::upper_bound(code.begin(), code.end(), address,
                       [](uint64_t at, const Mapping& mapping) { return at < mapping.start; });
  return after == code.begin() || address >= (after - 1)->end ? nullptr : &*(after - 1);
}

unwind::CopiedStack copied(const bpf::copy_record& record, const bpf::script_chain* scripts) {
  unwind::CopiedStack stack;
  stack.ip = record.regs[bpf::dwarf_rip];
  stack.sp = record.regs[bpf::dwarf_rsp];
  stack.bp = record.regs[bpf::dwarf_rbp];
  stack.bx = record.regs[bpf::dwarf_rbx];
  stack.at_entry = record.entry != 0;
  stack.returned = record.returned != 0;
  stack.memory = std::as_bytes(
      std::span(record.stack).first(std::min<size_t>(record.bytes, bpf::max_copy_bytes)));
  stack.missing = record.missing;
  for (size_t i = 0; i < record.returns && i < bpf::max_copied_returns; ++i)
    stack.pending.push_back({record.pending[i].slot, record.pending[i].address});
  if (scripts != nullptr) {
    stack.scripts.assign(scripts->items, scripts->items + scripts->count);
    stack.scripts_end = static_cast<bpf::script_end>(scripts->end);
    stack.language = static_cast<bpf::language>(scripts->told_language);
    stack.loop = scripts->loop;
    stack.runs = scripts->runs;
  }
  return stack;
}

bpf::code_mapping code_mapping(const CodeEntry& entry) {
  bpf::code_mapping mapping{};
  mapping.start = entry.start;
  mapping.end = entry.end;
  mapping.base = entry.base;
  mapping.first_row = entry.first_row;
  mapping.rows = entry.rows;
  return mapping;
}

}  // namespace

Unwinder::Unwinder(const ProbeOptions& options)
    : options_(options), eager_(!options.target.whole_system()) {}

// Files whose code is expected to run soon: those of the command, and those that nearly all
// programs need. With their tables made in advance, stacks can be walked from the first one on.
std::set<ModuleId> Unwinder::expected_soon(Spaces& spaces, bool programs) const {
  std::set<ModuleId> modules{spaces.vdso()};
  if (!programs) return modules;
  const auto add = [&](const std::string& path) {
    if (const ModuleId id = spaces.module_of_file(path)) modules.insert(id);
  };
  if (!options_.target.command.empty())
    for (const std::string& path : files_of_command(options_.target)) add(path);
  for (const ModuleId id : spaces.modules_of(::getpid())) {
    const std::string& path = spaces.module(id).path;
    if (path.find("/libc.so") != std::string::npos || path.find("/ld-linux") != std::string::npos)
      modules.insert(id);
  }
  return modules;
}

void Unwinder::prepare(Spaces& spaces, const std::vector<pid_t>& pids, BpfObject& object,
                       unsigned cpus, bpf::config& config) {
  uint64_t expected = 0;
  if (options_.stacks != Stacks::fp) {
    std::set<ModuleId> soon = expected_soon(spaces, pids.empty() || !eager_);
    // For the whole system, take the processes that run right now: their stacks come first.
    if (!eager_)
      for (const pid_t pid : working_processes(pids))
        for (const ModuleId id : spaces.modules_of(pid)) soon.insert(id);
    std::set<ModuleId> modules = soon;
    for (const pid_t pid : pids)
      for (const ModuleId id : spaces.modules_of(pid)) modules.insert(id);
    std::vector<std::pair<ModuleId, const Module*>> wanted;
    for (const ModuleId id : modules) {
      const Module& module = spaces.module(id);
      if (module.kind == ModuleKind::file && module.file.get() < 0) continue;
      if (module.kind == ModuleKind::anonymous) continue;
      if (eager_ || soon.contains(id))
        wanted.emplace_back(id, &module);
      else if (module.kind == ModuleKind::file)
        expected += unwind::rows_expected(module.file.get());
    }
    tables_.make(wanted);
    expected += tables_.rows_made();
    expected += expected / 4 + spare_rows(!eager_ || pids.empty());
  }
  const uint64_t most = uint64_t{options_.max_table_mib} * (1 << 20) / sizeof(unwind::row);
  rows_ = static_cast<uint32_t>(std::clamp<uint64_t>(expected, 512, std::max<uint64_t>(most, 512)));
  slots_ = eager_ ? 16384 : 65536;
  mappings_ = eager_ ? 32768 : 262144;
  object.resize("rows", rows_);
  object.resize("code_slots", slots_);
  object.resize("code_mappings", mappings_);
  // A buffer is held for the time of one walk only, by a program that can be preempted.
  config.scratches = 2 * cpus + 6;
  config.copies =
      options_.stacks == Stacks::copy || options_.check_every != 0 ? cpus + 2 : cpus / 4 + 2;
  object.resize("scratches", config.scratches);
  object.resize("copies", config.copies);
  config.code_slots = slots_;
  Interpreters::prepare(options_.languages && options_.stacks != Stacks::fp, cpus, object, config);
  config.new_space_copies = options_.stacks == Stacks::fp ? 0 : copies_per_change;
}

template <class T>
std::span<T> Unwinder::map_array(BpfObject& object, const char* name, size_t entries) {
  const size_t bytes = (entries * sizeof(T) + 4095) / 4096 * 4096;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, object.map(name), 0);
  if (memory == MAP_FAILED)
    throw Error(std::string("the BPF map ") + name + " cannot be mapped: " + std::strerror(errno));
  mapped_.emplace_back(memory, [bytes](void* at) { ::munmap(at, bytes); });
  return {static_cast<T*>(memory), entries};
}

void Unwinder::begin(const Spaces& spaces, BpfObject& object) {
  tables_.move_to(map_array<unwind::row>(object, "rows", rows_));
  if (options_.stacks == Stacks::dwarf) files_.emplace(object);
  if (options_.stacks != Stacks::fp && options_.languages) interpreters_.emplace(object);
  for (uint32_t i = 1; files_ && i < spaces.modules(); ++i)
    if (tables_.is_made(ModuleId{i})) tell(ModuleId{i}, spaces.module(ModuleId{i}));
  lists_.emplace(map_array<bpf::code_slot>(object, "code_slots", slots_),
                 map_array<bpf::code_mapping>(object, "code_mappings", mappings_),
                 map_array<bpf::cached_rule>(object, "rules", size_t{1} << bpf::rule_cache_bits));
}

uint32_t Unwinder::claim(SpaceId space) { return lists_->claim(space); }
void Unwinder::release(SpaceId space) {
  made_code_.forget(space);
  if (interpreters_) interpreters_->forget(lists_->slot_of(space));
  lists_->release(space, monotonic_ns());
}

void Unwinder::make_tables(const Spaces& spaces, std::span<const Mapping> code) {
  make_tables(without_table(spaces, code, tables_));
}

void Unwinder::make_tables(const std::vector<std::pair<ModuleId, const Module*>>& modules) {
  tables_.make(modules);
  for (const auto& [id, module] : modules)
    if (files_) tell(id, *module);
}

// Tells the programs of a file with a table.
void Unwinder::tell(ModuleId id, const Module& module) {
  const uint64_t inode = files_->tell(module, tables_.table(id), tables_.place(id));
  if (inode != 0) inodes_[id] = inode;
  if (inode != 0 && interpreters_) interpreters_->tell(id, module, inode);
}

void Unwinder::publish(Spaces& spaces, SpaceId space) {
  const bool by_tables = options_.stacks != Stacks::fp;
  const uint32_t unmaps = lists_->unmaps(space);
  const std::vector<Mapping>& code = spaces.code_of(space, monotonic_ns());
  if (eager_ && by_tables) make_tables(spaces, code);
  const std::vector<CodeEntry> entries =
      by_tables ? code_entries(spaces, space, code, tables_, made_code_)
                : code_entries_without_tables(spaces, code);
  if (entries.empty()) return;
  std::vector<bpf::code_mapping> list;
  list.reserve(entries.size());
  for (const CodeEntry& entry : entries) list.push_back(code_mapping(entry));
  lists_->publish(space, std::move(list), unmaps, by_tables ? copies_per_change : 0,
                  monotonic_ns());
  if (interpreters_) interpreters_->publish(spaces, space, code, lists_->slot_of(space));
}

void Unwinder::code_unmapped(Spaces& spaces, SpaceId space, uint64_t time_ns) {
  made_code_.forget(space);
  spaces.read_again(space, time_ns);
  stale_.insert(space);  // its list is gone, whatever was read
}

void Unwinder::refresh(Spaces& spaces) {
  std::set<SpaceId> wanted = std::exchange(stale_, {});
  for (const SpaceId id : spaces.changed()) wanted.insert(id);
  for (const SpaceId id : wanted)
    if (!spaces.has_ended(id)) publish(spaces, id);
}

void Unwinder::demand(Spaces& spaces, SpaceId space, uint64_t address, uint64_t time_ns) {
  if (options_.stacks == Stacks::fp) return;
  // The mappings at that time: by now the process may run another program.
  const std::vector<Mapping>& code = spaces.code_of(space, time_ns);
  const Mapping* mapping = mapping_at(code, address);
  if (mapping == nullptr || tables_.is_made(mapping->module)) return;
  // Stacks are likely to meet the program's other files next, so their tables are made too.
  make_tables(spaces, code);
  if (!tables_.is_made(mapping->module)) return;
  for (const SpaceId id : spaces.with_code(code)) stale_.insert(id);
}

unwind::FoundRow Unwinder::find_row(std::span<const Mapping> code, const Spaces& spaces,
                                    SpaceId space, uint64_t address) const {
  const Mapping* mapping = mapping_at(code, address);
  if (mapping == nullptr || is_uprobes_page(spaces.module(mapping->module)))
    return {bpf::stop_no_mapping, {}};
  const std::optional<MadeCode::Block> made = made_code_.find(space, address);
  const CodeEntry where = made ? entry_of(*made) : entry_of(spaces, *mapping, tables_);
  if (where.rows == bpf::code_frame_pointer || options_.stacks == Stacks::fp)
    return {bpf::stop_end, {.pc = 0, .cfa = 0, .kind = unwind::row_fp, .rbp = 0}};
  if (where.rows == bpf::code_no_table) return {bpf::stop_no_table, {}};
  const uint64_t offset = address - where.base;
  if (offset >> 32 != 0) return {bpf::stop_no_mapping, {}};
  return {bpf::stop_end,
          tables_.find({where.first_row, where.rows}, static_cast<uint32_t>(offset))};
}

std::vector<LaterCode> Unwinder::later_code(Spaces& spaces, SpaceId space, uint64_t time_ns) const {
  std::vector<LaterCode> later = spaces.later_code_of(space, time_ns);
  for (LaterCode& code : later) {
    const auto inode = inodes_.find(code.module);
    if (inode != inodes_.end())
      code.turn = bpf::mix(bpf::mix(0, inode->second), code.start);
    else if (spaces.module(code.module).kind == ModuleKind::anonymous)
      code.turn = 1;
  }
  return later;
}

unwind::WalkedStack Unwinder::walk_again(Spaces& spaces, const bpf::copy_record& record,
                                         const bpf::script_chain* scripts) const {
  const SpaceId space{record.space};
  const std::vector<Mapping>& code = spaces.code_of(space, record.time);
  return unwind::walk(copied(record, scripts), options_.max_depth,
                      [&](uint64_t address) { return find_row(code, spaces, space, address); });
}

RawStack Unwinder::walk(Spaces& spaces, const bpf::copy_record& record,
                        const bpf::script_chain* scripts) {
  const SpaceId space{record.space};
  unwind::WalkedStack walked = walk_again(spaces, record, scripts);
  // Either the code came in a way that no log reports, or its table was not asked for yet.
  if (walked.stop == StopReason::no_mapping) {
    spaces.read_again(space, record.time);
    refresh(spaces);
    walked = walk_again(spaces, record, scripts);
  }
  for (int files = 0; walked.stop == StopReason::no_table && files < 64; ++files) {
    const uint64_t unknown = walked.unknown;
    demand(spaces, space, unknown, record.time);
    refresh(spaces);
    walked = walk_again(spaces, record, scripts);
    if (walked.unknown == unknown) break;
  }
  ++walked_.captured;
  ++walked_.deferred;
  walked_.frames += walked.pcs.size();
  ++walked_.stops[static_cast<size_t>(walked.stop)];

  RawStack stack;
  stack.space = space;
  stack.time_ns = record.time;
  stack.kernel_pcs = std::min<uint32_t>(record.kernel_frames, bpf::max_kernel_frames);
  stack.stop = walked.stop;
  for (uint32_t i = 0; i < stack.kernel_pcs; ++i) stack.pcs.push_back({record.kernel[i], i != 0});
  for (const Pc& pc : walked.pcs)
    if (bpf::script_language(pc.addr) == bpf::language_none)
      stack.pcs.push_back(pc);
    else
      spaces.scripts().place(space, pc.addr, stack.pcs);
  if (walked.scripts_unread) ++scripts_unread_;
  return stack;
}

StackStatistics Unwinder::statistics(const bpf::counters& counters) const {
  StackStatistics sum = walked_;
  sum.captured += counters.stacks;
  sum.frames += counters.frames;
  for (size_t i = 0; i < sum.stops.size(); ++i) sum.stops[i] += counters.stops[i];
  return sum;
}

}  // namespace memflame
