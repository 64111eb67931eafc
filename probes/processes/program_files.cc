// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/program_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <sstream>
#include <string_view>

#include "core/elf/image.h"
#include "core/error.h"
#include "probes/processes/pipe.h"
#include "probes/system/users.h"

namespace memflame {
namespace {

// Programs that run one of their arguments in any case. gdb, perf and busybox are left out, because
// they may also read a program without running it.
constexpr std::array<std::string_view, 43> wrappers{
    "ash",     "bash",      "catchsegv", "ccache",  "chroot",   "chrt",        "dash",
    "doas",    "eatmydata", "env",       "exec",    "fakeroot", "flock",       "heaptrack",
    "ionice",  "ksh",       "ltrace",    "nice",    "nohup",    "nsenter",     "numactl",
    "prlimit", "rlwrap",    "runuser",   "script",  "setarch",  "setpriv",     "setsid",
    "sh",      "stdbuf",    "strace",    "su",      "sudo",     "systemd-run", "taskset",
    "time",    "timeout",   "unbuffer",  "unshare", "valgrind", "watch",       "xargs",
    "zsh",
};

bool runs_its_arguments(std::string_view program) {
  program.remove_prefix(program.rfind('/') + 1);
  return std::find(wrappers.begin(), wrappers.end(), program) != wrappers.end();
}

// The PT_INTERP of a dynamically linked program; "" for a static program or a file that is not ELF.
std::string interpreter_of(const std::string& program) {
  constexpr uint64_t longest = 4096;
  const UniqueFd file = open_file(program);
  if (!file) return {};
  const ImageBytes image(file.get());
  const std::optional<ElfImage> elf = ElfImage::open(image);
  if (!elf) return {};
  for (const Elf64_Phdr& segment : elf->segments()) {
    if (segment.p_type != PT_INTERP || segment.p_filesz > longest) continue;
    const ImageRange text = image.range(segment.p_offset, segment.p_filesz);
    const char* name = reinterpret_cast<const char*>(text.bytes.data());
    return text.bytes.empty() ? "" : std::string(name, ::strnlen(name, text.bytes.size()));
  }
  return {};
}

// The interpreter that a script names ("#!interpreter args"), also one named through env; "" if the
// file is not a script.
std::string script_interpreter(const std::string& program) {
  const UniqueFd file = open_file(program);
  std::array<char, 256> head{};
  if (!file || ::read(file.get(), head.data(), head.size() - 1) < 3) return {};
  if (head[0] != '#' || head[1] != '!') return {};
  std::istringstream line(head.data() + 2);
  std::string word;
  std::string argument;
  line >> word >> argument;
  if (word.ends_with("/env") && !argument.empty() && argument[0] != '-') {
    try {
      return find_program(argument);
    } catch (const Error&) {
      return word;
    }
  }
  return word;
}

}  // namespace

UniqueFd open_file(const std::string& path) {
  const UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {};
  if (!place || ::fstat(place.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const std::string same = "/proc/self/fd/" + std::to_string(place.get());
  return UniqueFd(::open(same.c_str(), O_RDONLY | O_CLOEXEC));
}

std::string find_program(const std::string& name) {
  const auto check = [](const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) != 0  ? ENOENT
           : S_ISDIR(status.st_mode)           ? EISDIR
           : !S_ISREG(status.st_mode)          ? EACCES
           : ::access(path.c_str(), X_OK) != 0 ? errno
                                               : 0;
  };
  int error = ENOENT;
  if (name.find('/') != std::string::npos) {
    error = check(name);
    if (error == 0) return name;
  } else if (!name.empty()) {
    const char* path = ::getenv("PATH");
    std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
    for (std::string folder; std::getline(folders, folder, ':');) {
      std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
      const int result = check(candidate);
      if (result == 0) return candidate;
      if (result != ENOENT) error = result;
    }
  }
  if (error == ENOENT) throw Error(name + ": command not found", ExitCode::not_found);
  throw Error(name + ": cannot be executed: " + std::strerror(error), ExitCode::cannot_execute);
}

std::string program_file(const std::string& program) {
  std::string file = program;
  // The kernel follows a chain of four.
  for (int depth = 0; depth < 4; ++depth) {
    std::string next = script_interpreter(file);
    if (next.empty()) break;
    file = std::move(next);
  }
  return file;
}

bool has_usual_loader(const std::string& program) {
  return interpreter_of(program_file(program)) == "/lib64/ld-linux-x86-64.so.2";
}

std::vector<std::string> libraries_of(const std::string& program, const std::string& preload,
                                      const std::string& user) {
  std::vector<std::string> libraries;
  const std::string file = program_file(program);
  libraries.push_back(file);
  const std::string loader = interpreter_of(file);
  // Only glibc's loader knows --list. musl's loader is the libc itself, with the allocator.
  if (loader.empty()) return libraries;
  libraries.push_back(loader);
  if (loader.find("/ld-linux") == std::string::npos) return libraries;
  User as;
  if (!user.empty()) as = find_user(user);
  Pipe output = make_pipe();
  const pid_t child = ::fork();
  if (child < 0) return libraries;
  if (child == 0) {
    if (!user.empty() && !become(as)) ::_exit(127);
    if (!preload.empty()) ::setenv("LD_PRELOAD", preload.c_str(), 1);
    ::dup2(output.write.get(), STDOUT_FILENO);
    const int null = ::open("/dev/null", O_RDWR);
    ::dup2(null, STDIN_FILENO);
    ::dup2(null, STDERR_FILENO);
    ::execl(loader.c_str(), loader.c_str(), "--list", file.c_str(), nullptr);
    ::_exit(127);
  }
  output.write.reset();
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t n = 0; (n = ::read(output.read.get(), buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<size_t>(n));
  ::waitpid(child, nullptr, 0);
  // "\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f…)". Files that were preloaded or
  // named by their path have no arrow.
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t arrow = line.find("=> /");
    const size_t start = arrow != std::string::npos ? arrow + 3 : line.find_first_not_of('\t');
    const size_t end = line.rfind(" (0x");
    if (start < line.size() && line[start] == '/' && end != std::string::npos && end > start)
      libraries.push_back(line.substr(start, end - start));
  }
  return libraries;
}

std::vector<std::string> programs_of(const std::vector<std::string>& argv) {
  constexpr size_t most_words = 16;
  std::vector<std::string> programs;
  for (size_t i = 0; i < argv.size() && i < most_words; ++i) {
    try {
      programs.push_back(find_program(argv[i]));
    } catch (const Error&) {
      continue;  // this word is not a program
    }
    if (!runs_its_arguments(argv[i])) break;
  }
  return programs;
}

std::vector<std::string> files_of_command(const Target& target) {
  constexpr std::string_view assignment = "LD_PRELOAD=";
  std::string preload;
  for (const std::string& word : target.command)
    if (word.starts_with(assignment)) preload = word.substr(assignment.size());
  std::vector<std::string> files;
  for (const std::string& program : programs_of(target.command))
    for (const std::string& file : libraries_of(program, preload, target.runs_as))
      if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
  return files;
}

}  // namespace memflame
