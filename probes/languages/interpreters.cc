// SPDX-License-Identifier: BSD-2-Clause
#include "probes/languages/interpreters.h"

#include <bpf/libbpf.h>
#include <fcntl.h>

#include "core/error.h"
#include "probes/loading/bpf_syscall.h"
#include "probes/loading/kernel_features.h"

namespace memflame {
namespace {

constexpr const char* freed = "memflame_code_freed";
constexpr uint32_t known_functions = 65536;
constexpr const char* may_be_wrong =
    "names of Python functions whose code is freed during the run may be wrong: ";

// `base`: what to add to an address of the file.
bpf::interpreter interpreter_at(const PythonProgram& program, uint64_t base) {
  bpf::interpreter interpreter{};
  interpreter.language = bpf::language_python;
  interpreter.key_at = base + program.key;
  interpreter.python = program.layout;
  return interpreter;
}

bpf::interpreter interpreter_with(const V8Program& program) {
  bpf::interpreter interpreter{};
  interpreter.language = bpf::language_v8;
  interpreter.v8 = program.layout;
  return interpreter;
}

bpf::interpreter interpreter_with(const JavaProgram& program, uint64_t base) {
  bpf::interpreter interpreter{};
  interpreter.language = bpf::language_java;
  interpreter.key_at = base;
  interpreter.java = program.layout;
  return interpreter;
}

}  // namespace

bool has_interpreter(const Module& module) {
  if (module.kind != ModuleKind::file || module.file.get() < 0) return false;
  const std::optional<PythonProgram> python = python_in(module.file.get());
  const std::optional<V8Program> v8 = v8_in(module.file.get());
  const std::optional<JavaProgram> java = java_in(module.file.get());
  return (python && python->problem.empty()) || (v8 && v8->problem.empty()) ||
         (java && java->problem.empty());
}

void Interpreters::prepare(bool wanted, unsigned cpus, BpfObject& object, bpf::config& config) {
  if (!wanted) return object.leave_out(freed);
  config.scripts = 1;
  config.script_buffers = cpus / 4 + 2;
  object.resize("interpreters", config.code_slots);
  object.resize("known_scripts", known_functions);
  object.resize("script_buffers", config.script_buffers);
  if (kernel_features().uprobe_multi_pid) object.set_attach_type(freed, attach_uprobe_multi);
}

const std::optional<PythonProgram>& Interpreters::program_of(ModuleId id, const Module& module) {
  const auto [known, added] = programs_.try_emplace(id);
  if (added && module.kind == ModuleKind::file && module.file.get() >= 0)
    known->second = python_in(module.file.get());
  return known->second;
}

const std::optional<V8Program>& Interpreters::v8_of(ModuleId id, const Module& module) {
  const auto [known, added] = v8_.try_emplace(id);
  if (added && module.kind == ModuleKind::file && module.file.get() >= 0)
    known->second = v8_in(module.file.get());
  return known->second;
}

const std::optional<JavaProgram>& Interpreters::java_of(ModuleId id, const Module& module) {
  const auto [known, added] = java_.try_emplace(id);
  if (added && module.kind == ModuleKind::file && module.file.get() >= 0)
    known->second = java_in(module.file.get());
  return known->second;
}

void Interpreters::tell(ModuleId id, const Module& module, uint64_t inode) {
  const std::optional<PythonProgram>& program = program_of(id, module);
  if (const std::optional<V8Program>& v8 = v8_of(id, module); v8 && v8->problem.empty())
    object_.update("interpreter_files", inode, interpreter_with(*v8));
  if (const std::optional<JavaProgram>& java = java_of(id, module); java && java->problem.empty())
    object_.update("interpreter_files", inode, interpreter_with(*java, 0 - java->delta));
  if (!program || !program->problem.empty()) return;
  object_.update("interpreter_files", inode, interpreter_at(*program, 0 - program->delta));
}

bool Interpreters::publish_v8(const Spaces& spaces, SpaceId space, const Mapping& mapping,
                              uint32_t slot) {
  const Module& module = spaces.module(mapping.module);
  const std::optional<V8Program>& program = v8_of(mapping.module, module);
  if (!program) return false;
  if (!program->problem.empty()) {
    notes_.insert("functions of JavaScript are not in stacks: " + module.path + " has V8 " +
                  program->version + "; " + program->problem);
    return true;
  }
  auto& told = told_[slot];
  if (told == std::pair{space, mapping.start}) return true;
  object_.update("interpreters", slot, interpreter_with(*program));
  told = {space, mapping.start};
  return true;
}

bool Interpreters::publish_java(const Spaces& spaces, SpaceId space, const Mapping& mapping,
                                uint32_t slot) {
  const Module& module = spaces.module(mapping.module);
  const std::optional<JavaProgram>& program = java_of(mapping.module, module);
  if (!program) return false;
  if (!program->problem.empty()) {
    notes_.insert("methods of Java are not in stacks: " + module.path + " is Java " +
                  program->version + "; " + program->problem);
    return true;
  }
  const bpf::interpreter interpreter =
      interpreter_with(*program, mapping.start - mapping.offset - program->delta);
  auto& told = told_[slot];
  if (told == std::pair{space, interpreter.key_at}) return true;
  // Programs may have met it by the file's inode, and keep what they have read in it.
  bpf::interpreter known{};
  if (!object_.lookup("interpreters", slot, known) || known.language != interpreter.language ||
      known.key_at != interpreter.key_at)
    object_.update("interpreters", slot, interpreter);
  told = {space, interpreter.key_at};
  return true;
}

void Interpreters::publish(const Spaces& spaces, SpaceId space, std::span<const Mapping> code,
                           uint32_t slot) {
  if (slot == 0) return;
  for (const Mapping& mapping : code) {
    const Module& module = spaces.module(mapping.module);
    const std::optional<PythonProgram>& program = program_of(mapping.module, module);
    if (!program &&
        (publish_v8(spaces, space, mapping, slot) || publish_java(spaces, space, mapping, slot)))
      return;
    if (!program) continue;
    if (!program->problem.empty()) {
      notes_.insert("functions of Python are not in stacks: " + module.path + " is Python " +
                    program->version + "; " + program->problem);
      return;
    }
    const bpf::interpreter interpreter =
        interpreter_at(*program, mapping.start - mapping.offset - program->delta);
    auto& told = told_[slot];
    if (told == std::pair{space, interpreter.key_at}) return;
    watch_freed(mapping.module, module, *program, spaces.pid_of(space));
    // Programs may have met it by the file's inode, and keep figures in it.
    bpf::interpreter known{};
    if (!object_.lookup("interpreters", slot, known) || known.key_at != interpreter.key_at)
      object_.update("interpreters", slot, interpreter);
    told = {space, interpreter.key_at};
    return;
  }
}

void Interpreters::watch_freed(ModuleId id, const Module& module, const PythonProgram& program,
                               pid_t pid) {
  if (watched_.insert(pid).second) freed_.add(pid);
  if (!watched_files_.insert(id).second) return;
  FilePuts file;
  file.file = UniqueFd(::fcntl(module.file.get(), F_DUPFD_CLOEXEC, 0));
  file.puts.push_back(
      {.program = bpf_program__fd(object_.program(freed)),
       .kind = kernel_features().uprobe_multi_pid ? UprobeKind::multi_entry : UprobeKind::entry,
       .sites = {{.offset = program.free_code}}});
  try {
    freed_.add(std::move(file));
  } catch (const Error& error) {
    notes_.insert(std::string(may_be_wrong) + error.what());
  }
}

void Interpreters::ended(const bpf::space_record& record) {
  const auto pid = static_cast<pid_t>(record.tgid);
  if (!watched_.contains(pid)) return;
  if (record.by == bpf::by_nobody) watched_.erase(pid);
  freed_.take(record);
}

void Interpreters::forget(uint32_t slot) {
  if (slot == 0 || told_.erase(slot) == 0) return;
  object_.update("interpreters", slot, bpf::interpreter{});
}

std::vector<std::string> Interpreters::notes() {
  const LateProcesses late = freed_.so_far();
  if (late.failed != 0) notes_.insert(std::string(may_be_wrong) + late.failure);
  return {notes_.begin(), notes_.end()};
}

}  // namespace memflame
