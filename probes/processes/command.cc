// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/command.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <sstream>

#include "core/elf/image.h"
#include "core/error.h"

namespace memflame {
namespace {

struct Pipe {
  UniqueFd read, write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw Error(std::string("cannot make a pipe: ") + std::strerror(errno));
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// As execvp finds it: a name with a slash as it is, others along PATH.
std::string find_program(const std::string& name) {
  const auto check = [](const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) != 0  ? ENOENT
           : S_ISDIR(status.st_mode)           ? EISDIR
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

struct User {
  std::string name, home;
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
};

User find_user(const std::string& name) {
  const passwd* entry = ::getpwnam(name.c_str());
  if (entry == nullptr) throw Error("--user " + name + ": there is no such user");
  User user{.name = entry->pw_name,
            .home = entry->pw_dir,
            .uid = entry->pw_uid,
            .gid = entry->pw_gid,
            .groups = std::vector<gid_t>(256)};
  int count = static_cast<int>(user.groups.size());
  if (::getgrouplist(name.c_str(), entry->pw_gid, user.groups.data(), &count) < 0) {
    user.groups.resize(static_cast<size_t>(count));
    ::getgrouplist(name.c_str(), entry->pw_gid, user.groups.data(), &count);
  }
  user.groups.resize(static_cast<size_t>(count));
  return user;
}

// The environment with the HOME, USER and LOGNAME of the user, and without sudo's variables.
std::vector<std::string> environment_of(const User& user) {
  constexpr std::array<std::string_view, 7> own{
      "HOME=", "USER=", "LOGNAME=", "SUDO_UID=", "SUDO_GID=", "SUDO_USER=", "SUDO_COMMAND="};
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (std::none_of(own.begin(), own.end(), [&](std::string_view name) {
          return std::string_view(*variable).starts_with(name);
        }))
      variables.emplace_back(*variable);
  variables.push_back("HOME=" + user.home);
  variables.push_back("USER=" + user.name);
  variables.push_back("LOGNAME=" + user.name);
  return variables;
}

// Only async-signal-safe calls. False, with errno set, if it is not allowed.
bool become(const User& user) {
  return ::setgroups(user.groups.size(), user.groups.data()) == 0 && ::setgid(user.gid) == 0 &&
         ::setuid(user.uid) == 0;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// PT_INTERP of a dynamically linked program; "" for a static one, or for a file that is not ELF.
std::string interpreter_of(const std::string& program) {
  constexpr uint64_t longest = 4096;
  const UniqueFd file(::open(program.c_str(), O_RDONLY | O_CLOEXEC));
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

// The program that a script begins with ("#!interpreter args"), also by env; "" if it is not a
// script.
std::string script_interpreter(const std::string& program) {
  const UniqueFd file(::open(program.c_str(), O_RDONLY | O_CLOEXEC));
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

Command::Command(std::vector<std::string> argv, const std::string& user)
    : argv_(std::move(argv)), program_(find_program(argv_.at(0))) {
  User as;
  if (!user.empty()) as = find_user(user);
  Pipe go = make_pipe();
  Pipe failed = make_pipe();
  const std::vector<char*> arguments = pointers_to(argv_);
  std::vector<std::string> variables;
  if (!user.empty()) variables = environment_of(as);
  const std::vector<char*> changed = pointers_to(variables);
  char* const* environment = user.empty() ? environ : changed.data();

  pid_ = ::fork();
  if (pid_ < 0) throw Error(std::string("cannot start a process: ") + std::strerror(errno));
  if (pid_ == 0) {
    // Only async-signal-safe calls from here on.
    go.write.reset();
    char byte = 0;
    if (::read(go.read.get(), &byte, 1) != 1) ::_exit(125);
    int error = 0;
    if (!user.empty() && !become(as)) error = errno;
    if (error == 0) {
      ::execve(program_.c_str(), arguments.data(), environment);
      error = errno;
    }
    [[maybe_unused]] const ssize_t told = ::write(failed.write.get(), &error, sizeof(error));
    ::_exit(126);
  }
  go_ = std::move(go.write);
  failed_ = std::move(failed.read);
}

Command::~Command() {
  if (pid_ > 0 && go_) {
    go_.reset();
    ::waitpid(pid_, nullptr, 0);
  }
}

void Command::release() {
  const char byte = 1;
  const ssize_t written = ::write(go_.get(), &byte, 1);
  go_.reset();
  int error = 0;
  if (written == 1 && ::read(failed_.get(), &error, sizeof(error)) == sizeof(error)) {
    ::waitpid(pid_, nullptr, 0);
    throw Error(program_ + ": cannot be executed: " + std::strerror(error),
                error == ENOENT ? ExitCode::not_found : ExitCode::cannot_execute);
  }
}

int Command::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::vector<std::string> libraries_of(const std::string& program, const std::string& preload,
                                      const std::string& user) {
  std::vector<std::string> libraries;
  std::string file = program;
  // A script's interpreter may be a script itself; the kernel follows four of them.
  for (int depth = 0; depth < 4; ++depth) {
    const std::string next = script_interpreter(file);
    if (next.empty()) break;
    file = next;
  }
  libraries.push_back(file);
  const std::string loader = interpreter_of(file);
  // Only glibc's loader knows --list; any other (musl's) is a library with an allocator itself.
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
  // "\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f…)"; files that were named by
  // their path, or preloaded, have no arrow.
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

std::vector<std::string> files_of_command(const Target& target) {
  const std::vector<std::string>& argv = target.command;
  constexpr size_t most_words = 16;
  constexpr std::string_view assignment = "LD_PRELOAD=";
  std::string preload;
  std::vector<std::string> programs;
  for (size_t i = 0; i < argv.size() && i < most_words; ++i) {
    if (argv[i].starts_with(assignment)) preload = argv[i].substr(assignment.size());
    try {
      programs.push_back(find_program(argv[i]));
    } catch (const Error&) {
      continue;  // this word is not a program
    }
  }
  std::vector<std::string> files;
  for (const std::string& program : programs)
    for (const std::string& file : libraries_of(program, preload, target.runs_as))
      if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
  return files;
}

}  // namespace memflame
