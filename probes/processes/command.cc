// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/command.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "probes/processes/pipe.h"
#include "probes/processes/program_files.h"
#include "probes/system/users.h"

namespace memflame {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  return variables;
}

void set_variable(std::vector<std::string>& all, const std::string& variable) {
  const std::string name = variable.substr(0, variable.find('=') + 1);
  std::erase_if(all, [&](const std::string& known) { return known.starts_with(name); });
  all.push_back(variable);
}

// In the child. False, with errno, if one is not open.
bool use(const CommandStreams& streams) {
  for (const auto& [from, to] :
       {std::pair{streams.in, STDIN_FILENO}, std::pair{streams.out, STDOUT_FILENO},
        std::pair{streams.err, STDERR_FILENO}})
    if (from >= 0 && ::dup2(from, to) < 0) return false;
  return true;
}

// si_pid is 0 if it runs.
siginfo_t end_of(pid_t child) {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0) return {};
  return info;
}

}  // namespace

Command::Command(std::vector<std::string> argv, const std::string& user,
                 const std::vector<std::string>& variables, const CommandStreams& streams)
    : argv_(std::move(argv)), program_(find_program(argv_.at(0))) {
  User as;
  if (!user.empty()) as = find_user(user);
  Pipe go = make_pipe();
  Pipe failed = make_pipe();
  const std::vector<char*> arguments = pointers_to(argv_);
  std::vector<std::string> all = user.empty() ? own_environment() : environment_of(as);
  for (const std::string& variable : variables) set_variable(all, variable);
  const std::vector<char*> environment = pointers_to(all);

  pid_ = ::fork();
  if (pid_ < 0) throw Error(std::string("cannot start a process: ") + std::strerror(errno));
  if (pid_ == 0) {
    // Only async-signal-safe calls from here on.
    go.write.reset();
    char byte = 0;
    if (::read(go.read.get(), &byte, 1) != 1) ::_exit(125);
    int error = 0;
    if (!use(streams) || (!user.empty() && !become(as))) error = errno;
    if (error == 0) {
      ::execve(program_.c_str(), arguments.data(), environment.data());
      error = errno;
    }
    [[maybe_unused]] const ssize_t told = ::write(failed.write.get(), &error, sizeof(error));
    ::_exit(126);
  }
  go_ = std::move(go.write);
  failed_ = std::move(failed.read);
}

Command::~Command() {
  if (pid_ > 0 && (go_ || has_failed_)) {
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
    // The destructor waits for its end: somebody may trace it until then, and a wait would take
    // what the tracer waits for.
    has_failed_ = true;
    throw Error(program_ + ": cannot be executed: " + std::strerror(error),
                error == ENOENT ? ExitCode::not_found : ExitCode::cannot_execute);
  }
}

bool Command::has_ended() const { return end_of(pid_).si_pid == pid_; }

int Command::ended_by_signal() const {
  const siginfo_t end = end_of(pid_);
  return end.si_pid == pid_ && end.si_code != CLD_EXITED ? end.si_status : 0;
}

int Command::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace memflame
