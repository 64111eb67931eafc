// SPDX-License-Identifier: BSD-2-Clause
#include "probes/languages/interpreters.h"

#include "core/error.h"
#include "probes/loading/bpf_syscall.h"
#include "probes/loading/kernel_features.h"

namespace memflame {
namespace {

constexpr const char* freed = "memflame_code_freed";
constexpr uint32_t known_functions = 65536;

}  // namespace

void Interpreters::prepare(bool wanted, unsigned cpus, BpfObject& object, bpf::config& config) {
  if (!wanted) return object.leave_out(freed);
  config.scripts = 1;
  config.script_buffers = cpus / 4 + 2;
  object.resize("interpreters", config.code_slots);
  object.resize("known_scripts", known_functions);
  object.resize("script_buffers", config.script_buffers);
  if (kernel_features().uprobe_multi_pid) object.set_attach_type(freed, attach_uprobe_multi);
}

const std::optional<PythonProgram>& Interpreters::program_of(const Spaces& spaces, ModuleId id) {
  const auto [known, added] = programs_.try_emplace(id);
  const Module& module = spaces.module(id);
  if (added && module.kind == ModuleKind::file && module.file.get() >= 0)
    known->second = python_in(module.file.get());
  return known->second;
}

void Interpreters::publish(const Spaces& spaces, SpaceId space, std::span<const Mapping> code,
                           uint32_t slot) {
  if (slot == 0) return;
  for (const Mapping& mapping : code) {
    const std::optional<PythonProgram>& program = program_of(spaces, mapping.module);
    if (!program) continue;
    const Module& module = spaces.module(mapping.module);
    if (!program->problem.empty()) {
      notes_.insert("functions of Python are not in stacks: " + module.path + " is Python " +
                    program->version + "; " + program->problem);
      return;
    }
    const uint64_t base = mapping.start - mapping.offset - program->delta;
    const uint64_t key = base + program->key;
    auto& told = told_[slot];
    if (told == std::pair{space, key}) return;
    bpf::interpreter interpreter{};
    interpreter.language = bpf::language_python;
    interpreter.key_at = key;
    interpreter.python = program->layout;
    watch_free(module, *program, spaces.pid_of(space));
    object_.update("interpreters", slot, interpreter);
    told = {space, key};
    return;
  }
}

void Interpreters::watch_free(const Module& module, const PythonProgram& program, pid_t pid) {
  const UprobeKind kind =
      kernel_features().uprobe_multi_pid ? UprobeKind::multi_entry : UprobeKind::entry;
  try {
    links_.uprobes(object_.program(freed), "/proc/self/fd/" + std::to_string(module.file.get()),
                   {{.offset = program.free_code}}, kind, pid);
  } catch (const Error& error) {
    notes_.insert("names of Python functions that end during the run may be wrong: " +
                  std::string(error.what()));
  }
}

void Interpreters::forget(uint32_t slot) {
  if (slot == 0 || told_.erase(slot) == 0) return;
  object_.update("interpreters", slot, bpf::interpreter{});
}

}  // namespace memflame
