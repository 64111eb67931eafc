// SPDX-License-Identifier: BSD-2-Clause
// Executes a program by each function that does so, once each, and waits for it; also one that is
// not there, and one whose path cannot be read.
//
//   executes PROGRAM [--wait]      PROGRAM: with a slash; --wait: reads a line first
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

void in_child(const std::function<void()>& execute) {
  const pid_t child = ::fork();
  if (child == 0) {
    execute();
    ::_exit(1);
  }
  ::waitpid(child, nullptr, 0);
}

void execute_by_each(const char* path) {
  char* words[] = {const_cast<char*>(path), nullptr};
  char* environment[] = {nullptr};
  in_child([&] { ::execve(path, words, environ); });
  in_child([&] { ::execv(path, words); });
  in_child([&] { ::execvp(path, words); });
  in_child([&] { ::execvpe(path, words, environment); });
  in_child([&] { ::execl(path, path, "a", "b", nullptr); });
  in_child([&] { ::execle(path, path, "a", nullptr, environment); });
  in_child([&] { ::execlp(path, path, nullptr); });
  in_child([&] { ::fexecve(::open(path, O_RDONLY), words, environ); });
  in_child([&] { ::execveat(AT_FDCWD, path, words, environ, 0); });
  if (const pid_t child = ::vfork(); child == 0) {
    ::execve(path, words, environ);
    ::_exit(1);
  } else {
    ::waitpid(child, nullptr, 0);
  }
  pid_t child = 0;
  if (::posix_spawn(&child, path, nullptr, nullptr, words, environ) == 0)
    ::waitpid(child, nullptr, 0);
  if (::posix_spawnp(&child, path, nullptr, nullptr, words, environ) == 0)
    ::waitpid(child, nullptr, 0);
}

}  // namespace

// Whether the call returns an error, as the kernel does it.
bool refuses_bad_path() {
  char* words[] = {nullptr};
  const char* volatile bad = reinterpret_cast<const char*>(8);  // not known to the compiler
  return ::execve(bad, words, environ) == -1 && errno == EFAULT;
}

int main(int count, char** words) {
  if (count < 2) return 2;
  if (count > 2) {
    void* const block = std::malloc(1);  // so that whoever watches meets this process
    std::puts("ready");
    std::fflush(stdout);
    std::getchar();
    std::free(block);
  }
  if (!refuses_bad_path()) return 1;
  execute_by_each(words[1]);
  execute_by_each("/not/there");
  // By a shell, which is another program.
  if (std::system(words[1]) == -1) return 1;
  if (FILE* const lines = ::popen(words[1], "r"); lines != nullptr) ::pclose(lines);
}
