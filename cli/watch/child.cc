// SPDX-License-Identifier: BSD-2-Clause
#include "cli/watch/child.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <new>
#include <sstream>
#include <string>

#include "core/error.h"
#include "probes/system/procfs.h"

namespace memflame {
namespace {

constexpr size_t text_bytes = 4096;

void* shared_memory(size_t bytes) {
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error("there is no memory to share between processes");
  return memory;
}

}  // namespace

pid_t start_child(const char* name, const std::function<int()>& work) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) throw Error(std::string("no process can be started: ") + std::strerror(errno));
  if (pid > 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::prctl(PR_SET_NAME, name);
  if (::getppid() != parent) ::_exit(0);  // it has ended before we asked to be told
  sigset_t none;
  ::sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  int code = 1;
  try {
    code = work();
  } catch (const std::exception& error) {
    std::cerr << "memflame: error: " << error.what() << "\n";
  }
  std::cout.flush();
  std::cerr.flush();
  ::_exit(code);
}

SharedNumber::SharedNumber(double value)
    : value_(new (shared_memory(sizeof(std::atomic<double>))) std::atomic<double>(value)) {}

SharedNumber::~SharedNumber() { ::munmap(value_, sizeof(*value_)); }

SharedText::SharedText() : text_(static_cast<char*>(shared_memory(text_bytes))) {}

SharedText::~SharedText() { ::munmap(text_, text_bytes); }

void SharedText::set(std::string_view text) {
  const size_t size = std::min(text.size(), text_bytes - 1);
  std::memcpy(text_, text.data(), size);
  text_[size] = '\0';
}

std::string SharedText::take() {
  std::string text(text_, ::strnlen(text_, text_bytes - 1));
  text_[0] = '\0';
  return text;
}

double processor_seconds_of(pid_t pid) {
  const std::string text = read_file("/proc/" + std::to_string(pid) + "/stat");
  // The name may hold spaces and parentheses. After it come the fields from the third on.
  const size_t end = text.rfind(')');
  if (end == std::string::npos) return 0;
  std::istringstream fields(text.substr(end + 1));
  constexpr int before = 11;  // fields from the third up to the times
  std::string skipped;
  for (int i = 0; i < before; ++i) fields >> skipped;
  double sum = 0, ticks = 0;
  for (int i = 0; i < 4 && fields >> ticks; ++i) sum += ticks;  // own, and children that have ended
  return sum / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace memflame
