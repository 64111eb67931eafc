// SPDX-License-Identifier: BSD-2-Clause
// The address spaces that are watched, and what code was mapped in them when. Mappings come from
// /proc, from the kernel's log (sideband.h), which has those of short-lived processes too, and from
// BPF's records of mremap(). Each mapping has the time from and until which it was there, so a
// stack is named by what was mapped when it was taken. A forked space begins with its parent's
// mappings. spaces.cc has the life of spaces, space_ends.cc what remains of it,
// space_mappings.cc the changes of their mappings, space_code.cc the look-up.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/recording.h"
#include "probes/bpf/shared.h"
#include "probes/languages/scripts/scripts.h"
#include "probes/processes/code_turns.h"
#include "probes/processes/modules.h"
#include "probes/processes/sideband.h"

namespace memflame {

// A process that mapped a file with code, when it did, and when it ended (UINT64_MAX: it lives).
struct FileUser {
  pid_t pid = 0;
  std::string comm;
  uint64_t from_ns = 0, until_ns = UINT64_MAX;
};

class Spaces {
 public:
  // A space that existed before the run; reads its mappings from /proc.
  void adopt(SpaceId id, pid_t pid, uint64_t time_ns);
  // A space that BPF announced (fork, exec, found).
  void begin(const bpf::space_record& record);
  // A stack of this space has come; begins the space if its announcement is missing.
  void expect(SpaceId id, pid_t pid, const char* comm, uint64_t time_ns);
  // Sets the cgroup in which a space began.
  void place(SpaceId id, const std::string& cgroup) { watched(id).space.cgroup = cgroup; }
  void end(SpaceId id, uint64_t time_ns);
  // No stack of spaces that had ended by then will be named again: gives back what was mapped in
  // them, once no living space has it from them. Returns those that were not forgotten before.
  std::vector<SpaceId> forget(uint64_t time_ns);

  // Spaces that have ended, and of which the log has nothing more to say, since the last call.
  std::vector<SpaceId> take_settled() { return std::exchange(settled_, {}); }
  // A space that stands for processes that have ended: it has the names of `like`, and no pid. It
  // has ended, too. What code is there is told by add_code().
  void begin_estate(SpaceId id, SpaceId like);
  void add_code(SpaceId estate, const Mapping& mapping);
  // As forget(), of these spaces, which have ended.
  void give_back(std::span<const SpaceId> ended);

  void take(const SidebandRecord& record);
  // `catch_up` hands over, by take(), what the log says up to the moment of the call.
  void set_log(std::function<void()> catch_up) { catch_up_with_log_ = std::move(catch_up); }

  // Reads /proc/PID/maps again if one of the addresses is in no mapping known so far: code that
  // came by mprotect() is in no log.
  void learn(SpaceId id, std::span<const Pc> pcs);

  // Spaces whose mapped code has changed since the last call.
  std::vector<SpaceId> changed();
  // What code was mapped at that time, sorted by address, without overlaps. Valid until the next
  // call that is not const.
  const std::vector<Mapping>& code_of(SpaceId id, uint64_t time_ns) {
    return code_then(id, time_ns).code;
  }
  // The part of that code that lies where other code was before; sorted and valid in the same way.
  const std::vector<LaterCode>& later_code_of(SpaceId id, uint64_t time_ns) {
    return code_then(id, time_ns).later;
  }
  // Live spaces in which one of these mappings' files is mapped.
  std::vector<SpaceId> with_code(std::span<const Mapping> code) const;
  // The process that had the file mapped for the longest time before `time_ns`. The log has an
  // exec's mappings before the exec itself, so the space before it seems to have them, too.
  std::optional<FileUser> user_of(ModuleId file, uint64_t time_ns) const;
  const std::string& name_of(SpaceId id) const { return known(id).space.comm; }
  const std::string& cgroup_of(SpaceId id) const { return known(id).space.cgroup; }
  pid_t pid_of(SpaceId id) const { return static_cast<pid_t>(known(id).space.pid); }
  bool has_ended(SpaceId id) const { return id.index < next_ && known(id).ended; }
  // Whether it had ended by then.
  bool had_ended(SpaceId id, uint64_t time_ns) const {
    return has_ended(id) && known(id).end_ns <= time_ns;
  }
  // The space whose memory was copied when this one began, and when; none if it was not by fork.
  std::pair<SpaceId, uint64_t> copied_from(SpaceId id) const {
    return {known(id).space.forked_from, known(id).space.from_ns};
  }
  // Reads /proc/PID/maps again, unless that was done after `time_ns`; for a space that has ended,
  // takes over the log.
  void read_again(SpaceId id, uint64_t time_ns);
  // When /proc/PID/maps was read last: the mappings that were gone by then, and those that were
  // new, are both there at that time.
  uint64_t read_at(SpaceId id) const { return known(id).last_read_ns; }

  // Code that was moved to another address.
  void move(SpaceId id, const bpf::move_record& move);

  // Files with code that have come into a watched space since the last call.
  std::vector<ModuleId> new_modules() { return modules_.opened(); }
  const Module& module(ModuleId id) const { return modules_[id]; }
  size_t modules() const { return modules_.size(); }  // ids are below that
  ModuleId module_of_file(const std::string& path) { return modules_.of_file(path); }
  ModuleId vdso() { return modules_.intern(MapsLine{.path = "[vdso]"}); }
  // Executable mappings a live process has now, as modules.
  std::vector<ModuleId> modules_of(pid_t pid);

  // Mapping of an address, or null.
  const Mapping* find(SpaceId id, uint64_t address) const;

  // Functions of interpreted languages.
  Scripts& scripts() { return scripts_; }
  const Scripts& scripts() const { return scripts_; }

  // Takes over what the log says of spaces that had ended before it was read.
  void settle();

  // Copies everything into the recording, which then is as if the run had ended. Perf maps may be
  // long, and are read again each time.
  void copy_to(Recording& recording, bool perf_maps = true) const;
  // Adds those that stand for ended ones, and takes nothing away.
  void add_estates_to(Recording& recording) const;
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
    SpaceId id;
    bool from_exec = false;
    bool ended = false;
    bool is_forgotten = false;
    bool is_given_back = false;
    bool has_anonymous_code = false;
    bool changed = false;  // since the last call of changed()
    uint64_t end_ns = UINT64_MAX;
    uint64_t last_read_ns = 0;
    uint64_t changes = 0;  // of its mappings, and of where they are inherited from
    CodeTurns turns;
  };
  // The result of code_then(), which is asked for with each copied stack.
  struct CodeThen {
    uint64_t changes = 0;                // of all spaces that it is made of
    uint64_t from_ns = 0, until_ns = 0;  // the times that it holds for
    std::vector<Mapping> code;
    std::vector<LaterCode> later;
  };

  Watched& watched(SpaceId id);
  // A space of which nothing is kept any more has ended, long ago.
  const Watched& known(SpaceId id) const;
  bool is_known(SpaceId id) const { return spaces_.contains(id.index); }
  void read_maps_of(Watched& space);
  void add_mapping(Watched& space, Mapping mapping);
  static bool is_overlaid(const Watched& space, const Mapping& mapping);
  void mark_changed(Watched& space);
  std::unordered_set<SpaceId> parents_of_remembered() const;
  void give_back_forgotten();
  bool is_replaced(const Watched& space) const;
  uint64_t changes_of(SpaceId id) const;
  const CodeThen& code_then(SpaceId id, uint64_t time_ns);
  CodeThen look_up_code(SpaceId id, uint64_t time_ns) const;
  std::vector<const CodeTurns*> turns_of(SpaceId id) const;  // of ancestors and itself
  std::vector<LaterCode> later(SpaceId id, std::span<const Mapping> code) const;
  void note_turn(Watched& space, const Mapping& mapping);
  bool is_file(const Mapping& mapping) const {
    return modules_[mapping.module].kind == ModuleKind::file;
  }
  void add_seen(Watched& space);
  void set_pid(Watched& space, pid_t pid);
  void settle_ended(uint64_t now_ns);
  void forget_log(pid_t pid, uint64_t until_ns);
  static void take_perf_map(Watched& space);
  static void sort_mappings(Space& space);
  static void tell_cgroups_apart(Paged<Space>& spaces);

  std::map<uint32_t, Watched> spaces_;  // by their numbers
  uint32_t next_ = 1;                   // above all of these
  Modules modules_;
  Scripts scripts_;
  std::vector<SpaceId> changed_;
  std::unordered_map<pid_t, std::vector<Seen>> seen_;
  std::deque<std::pair<uint64_t, pid_t>> exited_;   // whose log is to be forgotten, by time
  std::deque<std::pair<uint64_t, SpaceId>> ended_;  // whose log is to be taken over, by time
  std::vector<SpaceId> settled_;                    // for take_settled()
  std::unordered_map<pid_t, uint32_t> unsettled_;   // how many spaces need a pid's log
  std::unordered_map<pid_t, SpaceId> current_;      // the live space of a pid
  std::unordered_map<uint32_t, CodeThen> code_;     // by space
  std::function<void()> catch_up_with_log_;
};

uint64_t monotonic_ns();

}  // namespace memflame
