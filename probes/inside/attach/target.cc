// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/attach/target.h"

#include <array>
#include <cstdlib>
#include <filesystem>

#include "core/elf/valgrind.h"
#include "core/error.h"
#include "core/hex.h"
#include "core/own_agent.h"
#include "probes/inside/attach/own_process.h"
#include "probes/inside/exchange/agent_file.h"
#include "probes/inside/exchange/agentless.h"
#include "probes/options/advice.h"
#include "probes/processes/spaces.h"
#include "probes/reach/tracing.h"
#include "probes/system/procfs.h"

namespace memflame::inside {
namespace {

bool has_symbol(const LoadedObject& object, const RemoteMemory& memory, const char* name) {
  const FoundSymbol found = object.find(memory, name);
  return found.address != 0 && found.type != STT_TLS;
}

// Also those of other versions of memflame.
bool is_any_agent(const LoadedObject& object, const RemoteMemory& memory) {
  return has_symbol(object, memory, "memflame_request") &&
         has_symbol(object, memory, "memflame_hooks_in");
}

bool is_this_agent(const LoadedObject& object) {
  return object.path.find(attached_name()) != std::string::npos ||
         object.path.ends_with("/" + agent_name(agent_image()));
}

// Another memflame may be coming in or leaving, which takes milliseconds, even if it was killed.
void wait_for_other_attacher(pid_t pid) {
  constexpr uint64_t patience_ns = 5'000'000'000, interval_ns = 2'000'000;
  for (const uint64_t deadline = monotonic_ns() + patience_ns; monotonic_ns() < deadline;
       pause_for(interval_ns)) {
    bool is_traced = false;
    for (const pid_t tid : threads_of(pid)) {
      const std::string status =
          read_file(proc_path(pid, "task/" + std::to_string(tid) + "/status"));
      const pid_t tracer = std::atoi(status_field(status, "TracerPid").c_str());
      is_traced = is_traced || (tracer > 0 && read_comm(tracer) == attacher_name);
    }
    if (!is_traced) return;
  }
}

}  // namespace

std::string attached_name() {
  return std::string(agent_memory_begins) +
         agent_name(agent_image()).substr(agent_file_begins.size(), agent_hash_digits);
}

void AttachTarget::refuse(const std::string& why, ExitCode code) const {
  throw Error("process " + std::to_string(pid_) + " cannot be watched from inside: " + why + "; " +
                  as_root("--collect kernel needs no agent"),
              code);
}

AttachTarget::AttachTarget(pid_t pid) : pid_(pid), memory_(pid) {
  const std::string status = read_file(proc_path(pid, "status"));
  if (status.empty()) throw Error("there is no process " + std::to_string(pid));
  const char state = parse_stat(read_file(proc_path(pid, "stat"))).state;
  if (state == 'Z' || state == 'X') refuse("it has ended, and waits for its parent");
  if (!has_address_space(pid)) refuse("it is a thread of the kernel");
  if (state == 'T') refuse("it is stopped by a signal; let it go on first (kill -CONT)");
  if (status_field(status, "Seccomp") == "1") refuse("it may make no system calls (seccomp)");
  if (status_field(status, "x86_Thread_features").find("shstk") != std::string::npos)
    refuse("it has a shadow stack");
  constexpr uint64_t faults = uint64_t{1} << 10;  // SIGSEGV
  if ((std::strtoull(status_field(status, "SigIgn").c_str(), nullptr, 16) & faults) != 0)
    refuse("it ignores SIGSEGV");
  wait_for_other_attacher(pid);
  if (const std::string why = why_not_traceable(pid); !why.empty())
    refuse(why, ExitCode::requirement);
  const std::string why = reason_in(proc_path(pid, "exe"), false);
  if (why == seen_by_nobody)
    throw Error("process " + std::to_string(pid) + " cannot be watched: " + why, ExitCode::failure);
  if (!why.empty()) refuse(why);
  look();
  refuse_unfit();
  find_functions();
}

void AttachTarget::refuse_unfit() const {
  if (library_c_ == none || loader_ == none)
    refuse(
        "its C library is not glibc, or not loaded yet (musl has no room for a library that is "
        "loaded later)");
}

void AttachTarget::look() {
  const std::optional<std::vector<MapsLine>> maps = read_maps(pid_);
  if (!maps) throw Error("process " + std::to_string(pid_) + " ended");
  objects_ = loaded_objects(memory_, *maps);
  places_.assign(objects_.size(), Place::program);
  library_c_ = loader_ = agent_ = none;
  for (const MapsLine& line : *maps)
    if (line.path == "[vdso]") kernel_start_ = line.start, kernel_end_ = line.end;
  for (size_t i = 0; i < objects_.size(); ++i) {
    const LoadedObject& object = objects_[i];
    if (has_symbol(object, memory_, "_rtld_global")) {
      places_[i] = Place::loader;
      if (loader_ == none) loader_ = i;
    } else if (has_symbol(object, memory_, "gnu_get_libc_version")) {
      places_[i] = Place::library_c;
      if (library_c_ == none) library_c_ = i;
    } else if (is_any_agent(object, memory_)) {
      places_[i] = Place::agent;
      if (is_this_agent(object)) agent_ = i;
    } else if (has_symbol(object, memory_, "malloc") && has_symbol(object, memory_, "free")) {
      places_[i] = Place::allocator;
    }
  }
}

bool AttachTarget::take_agent(uint64_t handle) {
  struct {  // struct link_map of <link.h>
    uint64_t base, name, dynamic;
  } map{};
  if (!memory_.read(handle, map)) return false;
  LoadedObject object;
  object.start = object.base = map.base;
  object.end = map.dynamic;
  object.path = attached_name();
  object.tables = dynamic_tables(memory_, map.base, map.dynamic);
  objects_.push_back(object);
  places_.push_back(Place::agent);
  agent_ = objects_.size() - 1;
  return is_any_agent(object, memory_);
}

void AttachTarget::find_functions() {
  struct Wanted {
    const char* name;
    uint64_t* address;
  };
  const std::array wanted{Wanted{"mmap", &functions_.map},
                          Wanted{"munmap", &functions_.unmap},
                          Wanted{"syscall", &functions_.system_call},
                          Wanted{"__errno_location", &functions_.error_place},
                          Wanted{"dlopen", &functions_.load},
                          Wanted{"dlsym", &functions_.find},
                          Wanted{"dlerror", &functions_.error_text}};
  for (const Wanted& each : wanted) {
    *each.address = objects_[library_c_].find(memory_, each.name).address;
    // Before glibc 2.34, dlopen() and the like are in a library of their own.
    for (const LoadedObject& object : objects_)
      if (*each.address == 0 && object.path.find("/libdl") != std::string::npos)
        *each.address = object.find(memory_, each.name).address;
    if (*each.address == 0) refuse(std::string("its C library has no ") + each.name + "()");
  }
}

const LoadedObject* AttachTarget::object_at(uint64_t address) const {
  for (const LoadedObject& object : objects_)
    if (object.holds(address)) return &object;
  return nullptr;
}

const LoadedObject* AttachTarget::object_with(const char* symbol) const {
  for (const LoadedObject& object : objects_)
    if (has_symbol(object, memory_, symbol)) return &object;
  return nullptr;
}

Place AttachTarget::place_of(uint64_t address) const {
  if (address >= kernel_start_ && address < kernel_end_) return Place::kernel;
  const LoadedObject* object = object_at(address);
  return object == nullptr ? Place::program
                           : places_[static_cast<size_t>(object - objects_.data())];
}

std::string AttachTarget::words_of(uint64_t address) const {
  const LoadedObject* object = object_at(address);
  return object == nullptr ? hex(address) : object->path + "+" + hex(address - object->base);
}

bool AttachTarget::is_in(uint64_t address, const char* function) const {
  const FoundSymbol found = objects_[library_c_].find(memory_, function);
  return found.address != 0 && address >= found.address && address - found.address < found.size;
}

std::string network_of(pid_t pid) {
  std::error_code error;
  return std::filesystem::read_symlink(proc_path(pid, "ns/net"), error).string();
}

}  // namespace memflame::inside
