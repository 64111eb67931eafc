// SPDX-License-Identifier: BSD-2-Clause
#include "probes/languages/interpreters/interpreters.h"

#include <bpf/libbpf.h>
#include <fcntl.h>

#include <array>

#include "core/error.h"
#include "probes/languages/java/program.h"
#include "probes/languages/php/program.h"
#include "probes/languages/python/program.h"
#include "probes/languages/ruby/program.h"
#include "probes/languages/v8/program.h"
#include "probes/loading/bpf_syscall.h"
#include "probes/loading/kernel_features.h"

namespace memflame {
namespace {

constexpr const char* freed = "memflame_code_freed";
constexpr uint32_t known_functions = 65536;
constexpr const char* may_be_wrong =
    "names of functions whose code is freed during the run may be wrong: ";

// What all languages tell of a file. `is`: what comes before the version.
template <class Program>
InterpreterFile file_of(const Program& program, bpf::language language, const char* name,
                        const char* is) {
  InterpreterFile file{.language = name,
                       .named = is + program.version,
                       .problem = program.problem,
                       .told = {},
                       .frees = {}};
  file.told.language = language;
  return file;
}

// Numbered. An offset of 0: there is no such function.
template <class... Offsets>
std::vector<UprobeSite> sites(Offsets... offsets) {
  std::vector<UprobeSite> all;
  for (const uint64_t offset : {offsets...})
    if (offset != 0) all.push_back({.offset = offset, .cookie = all.size()});
  return all;
}

InterpreterFile file_with(const PythonProgram& program) {
  InterpreterFile file = file_of(program, bpf::language_python, "Python", "is Python ");
  file.delta = program.delta;
  file.frees = sites(program.free_code);
  file.told.key_at = program.key;
  file.told.python = program.layout;
  return file;
}

InterpreterFile file_with(const V8Program& program) {
  InterpreterFile file = file_of(program, bpf::language_javascript, "JavaScript", "has V8 ");
  file.told.v8 = program.layout;
  if (program.moves_begin == 0 || program.moves_end == 0 || program.heap_ends == 0) return file;
  file.frees = sites(program.moves_begin, program.moves_end, program.heap_ends);
  file.told.probes = 2;
  return file;
}

InterpreterFile file_with(const JavaProgram& program) {
  InterpreterFile file = file_of(program, bpf::language_java, "Java", "is Java ");
  file.delta = program.delta;
  file.told.java = program.layout;
  file.told.probes = bpf::script_checks;
  return file;
}

InterpreterFile file_with(const RubyProgram& program) {
  InterpreterFile file = file_of(program, bpf::language_ruby, "Ruby", "is Ruby ");
  file.delta = program.delta;
  file.frees = sites(program.free_code);
  file.told.probes = 1;
  file.told.key_at = program.state;
  file.told.ruby = program.layout;
  return file;
}

InterpreterFile file_with(const PhpProgram& program) {
  InterpreterFile file = file_of(program, bpf::language_php, "PHP", "is PHP ");
  file.delta = program.delta;
  file.told.key_at = program.globals;
  file.frees = sites(program.begin_request);
  file.told.probes = file.frees.empty() ? bpf::script_keeps_nothing : 1;
  file.told.php = program.layout;
  return file;
}

template <auto read>
std::optional<InterpreterFile> look_for(int fd) {
  const auto program = read(fd);
  return program ? std::optional(file_with(*program)) : std::nullopt;
}

// Each language has one row.
constexpr std::array languages{look_for<python_in>, look_for<v8_in>, look_for<java_in>,
                               look_for<ruby_in>, look_for<php_in>};

std::optional<InterpreterFile> interpreter_in(const Module& module) {
  if (module.kind != ModuleKind::file || module.file.get() < 0) return std::nullopt;
  for (const auto& look : languages)
    if (std::optional<InterpreterFile> found = look(module.file.get())) return found;
  return std::nullopt;
}

// `base`: what to add to an address of the file.
bpf::interpreter interpreter_at(const InterpreterFile& file, uint64_t base) {
  bpf::interpreter interpreter = file.told;
  interpreter.base = base;
  interpreter.key_at += base;
  return interpreter;
}

}  // namespace

bool has_interpreter(const Module& module) {
  const std::optional<InterpreterFile> file = interpreter_in(module);
  return file && file->problem.empty();
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

const std::optional<InterpreterFile>& Interpreters::file_of(ModuleId id, const Module& module) {
  const auto [known, added] = files_.try_emplace(id);
  if (added) known->second = interpreter_in(module);
  return known->second;
}

void Interpreters::tell(ModuleId id, const Module& module, uint64_t inode) {
  const std::optional<InterpreterFile>& file = file_of(id, module);
  if (!file || !file->problem.empty()) return;
  object_.update("interpreter_files", inode, interpreter_at(*file, 0 - file->delta));
}

void Interpreters::publish(const Spaces& spaces, SpaceId space, std::span<const Mapping> code,
                           uint32_t slot) {
  if (slot == 0) return;
  for (const Mapping& mapping : code) {
    const Module& module = spaces.module(mapping.module);
    const std::optional<InterpreterFile>& file = file_of(mapping.module, module);
    if (!file) continue;
    if (!file->problem.empty()) {
      notes_.insert("functions of " + file->language + " are not in stacks: " + module.path + " " +
                    file->named + "; " + file->problem);
      return;
    }
    bpf::interpreter interpreter =
        interpreter_at(*file, mapping.start - mapping.offset - file->delta);
    auto& told = told_[slot];
    if (told == std::pair{space, interpreter.base}) return;
    const bool watched =
        !file->frees.empty() && watch_freed(mapping.module, module, *file, spaces.pid_of(space));
    // With several probes each has to be met: a compiler may have left out calls of their
    // functions.
    interpreter.met[0] = watched && interpreter.probes == 1 ? 1 : 0;
    // Programs may have met it by the file's inode, and keep figures in it.
    bpf::interpreter known{};
    if (!object_.lookup("interpreters", slot, known) || known.base != interpreter.base ||
        known.language != interpreter.language)
      object_.update("interpreters", slot, interpreter);
    told = {space, interpreter.base};
    return;
  }
}

bool Interpreters::watch_freed(ModuleId id, const Module& module, const InterpreterFile& known,
                               pid_t pid) {
  // Others are only read more often without the probes.
  if (known.told.language == bpf::language_python || known.told.language == bpf::language_ruby)
    names_depend_ = true;
  try {
    if (watched_.insert(pid).second) freed_.add(pid);
    if (watched_files_.insert(id).second) freed_.add(puts_of(module, known));
    return !freed_.is_started();
  } catch (const Error& error) {
    if (names_depend_) notes_.insert(std::string(may_be_wrong) + error.what());
    return false;
  }
}

FilePuts Interpreters::puts_of(const Module& module, const InterpreterFile& known) const {
  FilePuts file;
  file.file = UniqueFd(::fcntl(module.file.get(), F_DUPFD_CLOEXEC, 0));
  file.puts.push_back(
      {.program = [fd = bpf_program__fd(object_.program(freed))] { return fd; },
       .kind = kernel_features().uprobe_multi_pid ? UprobeKind::multi_entry : UprobeKind::entry,
       .sites = known.frees});
  return file;
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
  if (late.failed != 0 && names_depend_) notes_.insert(std::string(may_be_wrong) + late.failure);
  return {notes_.begin(), notes_.end()};
}

}  // namespace memflame
