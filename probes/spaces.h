// The address spaces that are watched, and what code was mapped in them when.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/recording.h"
#include "probes/bpf/shared.h"
#include "probes/procfs.h"
#include "probes/sideband.h"

namespace memflame {

class Spaces {
 public:
  // A space that was there before; reads its mappings from /proc.
  void adopt(SpaceId id, pid_t pid, uint64_t time_ns);
  // A space that BPF announced (fork, exec, found).
  void begin(const bpf::space_record& record);
  // A stack of a space whose announcement was lost.
  void expect(SpaceId id, pid_t pid, const char* comm, uint64_t time_ns);
  void end(SpaceId id, uint64_t time_ns);

  void take(const SidebandRecord& record);

  // Reads /proc/PID/maps again if one of the addresses is in no mapping known so far: code that
  // came by mprotect() is in no log.
  void learn(SpaceId id, std::span<const Pc> pcs);

  // Files with code that have come into a watched space since the last call.
  std::vector<ModuleId> new_modules();
  const Module& module(ModuleId id) const { return modules_[id.index]; }
  // Executable mappings a live process has now, as modules.
  std::vector<ModuleId> modules_of(pid_t pid);

  // Mapping of an address, or null.
  const Mapping* find(SpaceId id, uint64_t address) const;

  // Takes over what the log says of spaces that had ended before it was read.
  void settle();

  // Moves everything into the recording; reads the perf maps of processes that still live.
  void finish(Recording& recording);

 private:
  struct Seen {  // one sideband record of a pid
    uint64_t time_ns = 0;
    bool is_exec = false;
    Mapping mapping;
  };
  struct Watched {
    Space space;
    bool from_exec = false;
    bool ended = false;
    bool has_anonymous_code = false;
    uint64_t end_ns = UINT64_MAX;
    uint64_t last_read_ns = 0;
  };

  Watched& watched(SpaceId id);
  void read_maps_of(Watched& space);
  void add_mapping(Watched& space, const Mapping& mapping);
  void add_seen(Watched& space);
  bool is_watched(pid_t pid) const;
  void read_perf_map(Watched& space) const;
  ModuleId intern_module(const MapsLine& line);
  // Opens the file behind a mapping of a watched process, once.
  void open_module(ModuleId id, pid_t pid, uint64_t start, uint64_t end);

  std::vector<Watched> spaces_{Watched{}};
  std::vector<Module> modules_{Module{}};
  std::map<std::tuple<uint64_t, uint64_t, std::string>, ModuleId> module_ids_;
  std::vector<ModuleId> new_modules_;
  std::unordered_map<pid_t, std::vector<Seen>> seen_;
  std::deque<std::pair<uint64_t, pid_t>> exited_;  // whose log is to be forgotten, by time
  std::unordered_map<pid_t, SpaceId> current_;     // the live space of a pid
};

uint64_t monotonic_ns();

}  // namespace memflame
