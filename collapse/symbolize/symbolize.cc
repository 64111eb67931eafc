// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/symbolize.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "collapse/symbolize/bus_guard.h"
#include "collapse/symbolize/code_of.h"
#include "collapse/symbolize/demangle.h"
#include "collapse/symbolize/elf_symbols.h"
#include "collapse/symbolize/kallsyms.h"
#include "collapse/symbolize/nameless_code.h"
#include "collapse/symbolize/namer.h"
#include "collapse/symbolize/perf_map.h"
#include "collapse/symbolize/places.h"
#include "collapse/symbolize/script_names.h"
#include "collapse/symbolize/vdso.h"
#include "core/hex.h"
#include "core/unnamed.h"

namespace memflame {
namespace {

// True also for "", the id of a file that has none.
bool may_be_build_id(std::string_view text) {
  constexpr size_t longest = 255;
  return text.size() <= longest &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

class NoFiles : public FileSource {
  OpenedFile open(const FileRequest&) override { return {}; }
};

// Code that is named together: of a file, made by one process at run time, or of interpreted
// languages.
struct Group {
  ModuleId module;
  SpaceId space;  // set if there is no module
  bool scripts = false;
  std::vector<NamelessAddress> targets;
  bool inlines = true;            // read DWARF, if that is wanted at all
  std::string without_inlines{};  // why not any more
};

class Symbolizer {
 public:
  Symbolizer(Recording& recording, const SymbolSources& sources)
      : recording_(recording), sources_(sources) {
    if (!sources.debug_servers) budget_.left = budget_.left.zero();
    if (sources.code) code_.emplace(recording);
  }

  void run(Places&& places) {
    for (auto& [module, targets] : places.files)
      groups_.push_back({module, {}, false, std::move(targets)});
    for (auto& [space, targets] : places.anonymous)
      groups_.push_back({{}, space, false, std::move(targets)});
    if (!places.scripts.empty()) groups_.push_back({{}, {}, true, std::move(places.scripts)});
    name_groups();
    for (const NamelessAddress& target : places.vsyscall)
      set(target, vsyscall_name(address_of(target)), FrameKind::user, "[vsyscall]");
    name_kernel(places.kernel);
    for (const NamelessAddress& target : places.unmapped) {
      // The address on the stack itself: there is no function to look up next to it.
      const std::string address = hex(location(target).pc.addr);
      location(target).symbols = {{.function = "[unmapped " + address + "]",
                                   .file = {},
                                   .kind = FrameKind::unknown,
                                   .module = {}}};
      recording_.losses.add(Loss::unmapped_address, 1);
    }
    if (sources_.debug_servers && budget_.exhausted())
      note("debug servers took too long and were not asked for the rest of the files");
    for (std::string& advice : advice_on_nameless_code(recording_)) note(std::move(advice));
  }

 private:
  Location& location(const NamelessAddress& target) {
    return recording_.locations[target.location.index];
  }
  uint64_t address_of(const NamelessAddress& target) { return lookup_address(location(target).pc); }
  void note(std::string text) { recording_.meta.notes.push_back(std::move(text)); }

  // Gives the place its only name, or marks it as unknown if that is empty.
  void set(const NamelessAddress& target, std::string_view name, FrameKind kind,
           const std::string& module) {
    if (name.empty()) return set_unknown(target, module, target.offset);
    location(target).symbols = {
        {.function = std::string(name), .file = {}, .kind = kind, .module = module}};
  }

  // `where`: the looked-up address, relative to its module.
  void set_unknown(const NamelessAddress& target, const std::string& module, uint64_t where) {
    set_nameless(target, module, location(target).pc.is_return ? where + 1 : where);
  }

  // Names a place by its address, or by the start of its function.
  void set_nameless(const NamelessAddress& target, const std::string& module, uint64_t where) {
    location(target).symbols = {{.function = unnamed_code(module, where),
                                 .file = {},
                                 .kind = FrameKind::unknown,
                                 .module = module}};
    recording_.losses.add(Loss::unknown_symbol, 1);
  }

  // Without files there is nothing untrusted to read, so no second process.
  void name_groups() {
    if (!sources_.files) {
      NoFiles none;
      for (Group& group : groups_) name_group(group, none);
      return;
    }
    NamingWork work;
    work.groups = groups_.size();
    work.memory_bytes = sources_.memory_bytes;
    work.used_bytes = sources_.used_bytes;
    group_of_.assign(recording_.locations.size(), groups_.size());
    for (size_t i = 0; i < groups_.size(); ++i) {
      work.locations += groups_[i].targets.size();
      for (const NamelessAddress& target : groups_[i].targets) group_of_[target.location.index] = i;
    }
    work.name = [this](size_t i, FileSource& files, const auto& tell) {
      tell(names_of(groups_[i], files));
    };
    work.open = [this](size_t i, const FileRequest& request) -> OpenedFile {
      if (!groups_[i].module) return {};
      return OwnFiles(recording_.modules[groups_[i].module.index], budget_).open(request);
    };
    work.take = [this](size_t i, Names names) { take(i, std::move(names)); };
    work.simplify = [this](size_t i, const std::string& why) { return simplify(i, why); };
    work.give_up = [this](size_t i, const std::string& why) { give_up(i, why); };
    if (!name_apart(work))
      note(
          "the process that reads names ran without a filter of system calls, as this kernel has "
          "none");
  }

  void name_group(Group& group, FileSource& files) {
    if (group.scripts)
      for (const NamelessAddress& target : group.targets)
        location(target).symbols = {script_symbol(recording_, location(target).pc)};
    else if (group.module)
      name_file(group, files);
    else
      name_by_perf_map(group.space, "[anon]", group.targets);
  }

  // Runs in the process that reads names, on a copy of the recording.
  Names names_of(Group& group, FileSource& files) {
    const uint64_t unknown = recording_.losses[Loss::unknown_symbol].events;
    recording_.meta.notes.clear();
    name_group(group, files);
    Names names;
    names.unknown = recording_.losses[Loss::unknown_symbol].events - unknown;
    names.notes = std::move(recording_.meta.notes);
    for (const NamelessAddress& target : group.targets) {
      const SymbolList& symbols = location(target).symbols;
      names.locations.emplace_back(target.location,
                                   std::vector<Symbol>(symbols.begin(), symbols.end()));
      if (!code_ || !recording_.code_of[target.location.index]) continue;
      const CodePlace& place = recording_.code[recording_.code_of[target.location.index]];
      names.code.push_back({target.location, recording_.code[place.mapping], place.address});
    }
    return names;
  }

  std::string module_of(const Group& group) const {
    return group.module ? recording_.modules[group.module.index].path : "[anon]";
  }

  bool is_awaited(LocationId id, size_t group) const {
    return id.index < group_of_.size() && group_of_[id.index] == group;
  }

  void take(size_t group, Names names) {
    for (NamedCode& code : names.code) {
      if (!code_ || !groups_[group].module || !is_awaited(code.location, group) ||
          !may_be_build_id(code.mapping.build_id))
        throw Error("the process that reads names placed what it was not asked for");
      code.mapping.file = module_of(groups_[group]);
      code_->set(code.location, groups_[group].module, code.mapping, code.address);
    }
    for (auto& [id, symbols] : names.locations) {
      if (!is_awaited(id, group) || symbols.empty())
        throw Error("the process that reads names named what it was not asked for");
      for (Symbol& symbol : symbols)
        symbol.module = groups_[group].scripts ? symbol.file : module_of(groups_[group]);
      recording_.locations[id.index].symbols = std::move(symbols);
      group_of_[id.index] = groups_.size();
    }
    recording_.losses.add(Loss::unknown_symbol,
                          std::min<uint64_t>(names.unknown, groups_[group].targets.size()));
    for (std::string& text : names.notes) note(std::move(text));
    if (!groups_[group].without_inlines.empty())
      note(module_of(groups_[group]) +
           ": names are without inlined functions and source lines, as with these " +
           std::exchange(groups_[group].without_inlines, {}));
  }

  // Most of what can go wrong with a file lies in its debug information, and most of the memory.
  bool simplify(size_t index, const std::string& why) {
    Group& group = groups_[index];
    if (!group.module || !sources_.inlines || !group.inlines) return false;
    group.inlines = false;
    group.without_inlines = why;
    std::erase_if(group.targets, [&](const NamelessAddress& target) {
      return !is_awaited(target.location, index);
    });
    return true;
  }

  void give_up(size_t index, const std::string& why) {
    const Group& group = groups_[index];
    size_t missing = 0;
    for (const NamelessAddress& target : group.targets) {
      if (group_of_[target.location.index] != index) continue;
      ++missing;
      if (group.scripts) {
        set(target, "[python: unreadable]", FrameKind::unknown, "");
        continue;
      }
      set_unknown(target, module_of(group), target.offset);
    }
    if (missing == 0) return;
    std::string where = module_of(group);
    if (group.scripts) {
      where = "functions of interpreted languages";
    } else if (!group.module) {
      const Space& space = recording_.spaces[group.space.index];
      where = "code that " + space.comm + " (" + std::to_string(space.pid) + ") has made";
    }
    note("names of " + std::to_string(missing) +
         (missing == 1 ? " address of " : " addresses of ") + where + " are missing: " + why);
  }

  void name_file(Group& group, FileSource& files) {
    const ModuleId id = group.module;
    std::vector<NamelessAddress>& targets = group.targets;
    const Module& module = recording_.modules[id.index];
    if (!sources_.files) return name_unreadable_file(id, targets, ElfProblem::not_wanted);
    const BusGuard guard;
    ElfSymbols symbols(module, sources_.inlines && group.inlines, files);
    if (symbols.problem() != ElfProblem::none)
      return name_unreadable_file(id, targets, symbols.problem());
    if (symbols.unchecked())
      note(module.path +
           ": names are of the file that is there now; the input does not tell whether it is the "
           "same");
    if (symbols.is_packed())
      note(module.path +
           ": names are without inlined functions and source lines, as its debug information, "
           "packed with zstd, could not be unpacked");
    // In order of address, libdw reads its data from front to back.
    std::sort(
        targets.begin(), targets.end(),
        [](const NamelessAddress& a, const NamelessAddress& b) { return a.offset < b.offset; });
    for (const NamelessAddress& target : targets) {
      const std::optional<uint64_t> address = symbols.address_of(target.offset);
      if (code_ && address) {
        CodeMapping mapping = *symbols.mapping_of(target.offset);
        mapping.file = module.path;
        code_->set(target.location, id, mapping, *address);
      }
      std::vector<Symbol> found;
      if (address) found = symbols.find(*address);
      if (found.empty()) {
        const std::optional<uint64_t> start = address ? symbols.start_of(*address) : std::nullopt;
        if (start)
          set_nameless(target, module.path, *start);
        else
          set_unknown(target, module.path, address.value_or(target.offset));
        continue;
      }
      for (Symbol& symbol : found) symbol.module = module.path;
      location(target).symbols = std::move(found);
    }
    if (guard.pages_replaced() != 0)
      note(module.path + ": names may be missing, the file was cut short while it was read");
  }

  // Some JITs write code to a file in memory, to map it twice; their perf map names it all the
  // same.
  void name_unreadable_file(ModuleId id, const std::vector<NamelessAddress>& targets,
                            ElfProblem problem) {
    const Module& module = recording_.modules[id.index];
    // The memory file of a JIT disappears with the process.
    if (code_ && problem != ElfProblem::not_elf) code_->set_offsets(id, targets);
    const uint64_t unknown = recording_.losses[Loss::unknown_symbol].events;
    std::map<SpaceId, std::vector<NamelessAddress>> by_space;
    for (const NamelessAddress& target : targets)
      by_space[perf_map_owner(recording_, location(target).space)].push_back(target);
    for (const auto& [space, group] : by_space) name_by_perf_map(space, module.path, group);
    if (recording_.losses[Loss::unknown_symbol].events == unknown) return;
    switch (problem) {
      case ElfProblem::none:
      case ElfProblem::not_elf:
      case ElfProblem::not_wanted:
        break;
      case ElfProblem::unreadable:
        note(module.path + ": names unknown, the file could not be opened");
        break;
      case ElfProblem::replaced:
        note(module.path + ": names unknown, the file was replaced since it was mapped");
        break;
    }
  }

  void name_by_perf_map(SpaceId space, const std::string& module,
                        const std::vector<NamelessAddress>& targets) {
    const auto map = perf_maps_.try_emplace(space, recording_.spaces[space.index].perf_map).first;
    for (const NamelessAddress& target : targets)
      set(target, without_tier(map->second.find(address_of(target))), FrameKind::jit, module);
  }

  void name_kernel(const std::vector<NamelessAddress>& targets) {
    if (targets.empty()) return;
    const bool wanted = !sources_.kallsyms_path.empty();
    const Kallsyms kallsyms(wanted ? read_text(sources_.kallsyms_path) : "");
    if (wanted && kallsyms.hidden())
      note("kernel names unknown: " + sources_.kallsyms_path +
           " hides them (see kernel.kptr_restrict)");
    for (const NamelessAddress& target : targets) {
      const Kallsyms::Name name = kallsyms.find(address_of(target));
      if (!name.function.empty()) {
        set(target, demangle(name.function), FrameKind::kernel, std::string(name.module));
        continue;
      }
      const std::string address = hex(location(target).pc.addr);
      location(target).symbols = {{.function = "[kernel " + address + "]",
                                   .file = {},
                                   .kind = FrameKind::kernel,
                                   .module = "kernel"}};
      recording_.losses.add(Loss::unknown_symbol, 1);
    }
  }

  Recording& recording_;
  const SymbolSources& sources_;
  DebuginfodBudget budget_;
  std::vector<Group> groups_;
  std::vector<size_t> group_of_;  // by location; the number of groups where nothing is awaited
  std::optional<CodeOf> code_;
  std::map<SpaceId, PerfMap> perf_maps_;
};

}  // namespace

void symbolize(Recording& recording, const SymbolSources& sources) {
  symbolize(recording, find_places(recording), sources);
}

void symbolize(Recording& recording, Places places, const SymbolSources& sources) {
  // By default one answer may take 90 s and three tries. The user's own settings are kept.
  if (sources.debug_servers && std::getenv("DEBUGINFOD_URLS") != nullptr) {
    ::setenv("DEBUGINFOD_TIMEOUT", "10", 0);
    ::setenv("DEBUGINFOD_MAXTIME", "30", 0);
    ::setenv("DEBUGINFOD_RETRY_LIMIT", "0", 0);
  }
  Symbolizer(recording, sources).run(std::move(places));
}

}  // namespace memflame
