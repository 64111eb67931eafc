#include "cli/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>

#include "core/error.h"

namespace memflame {
namespace {

bool is_stdout(const std::string& path) { return path.empty() || path == "-"; }

// Devices, pipes and the like are written as they are: renaming over them would replace them.
bool is_special(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

[[noreturn]] void fail(const std::string& path) {
  throw Error("cannot write " + path + ": " + std::strerror(errno));
}

// So that root does not write through a link that somebody has put there.
void create_anew(const std::string& path) {
  std::remove(path.c_str());
  const int created =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (created < 0) fail(path);
  ::close(created);
}

}  // namespace

void write_output(const std::string& path, const std::function<void(std::ostream&)>& write) {
  if (is_stdout(path)) {
    write(std::cout);
    std::cout.flush();
    if (!std::cout) throw Error("standard output could not be written");
    return;
  }
  const bool special = is_special(path);
  const std::string temporary =
      special ? path : path + "." + std::to_string(::getpid()) + ".partial";
  if (!special) create_anew(temporary);
  errno = 0;
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  if (!file) fail(path);
  try {
    write(file);
    file.close();
    if (!file) fail(path);
    if (!special && std::rename(temporary.c_str(), path.c_str()) != 0) fail(path);
  } catch (...) {
    if (!special) std::remove(temporary.c_str());
    throw;
  }
}

std::unique_ptr<std::ostream> open_lines(const std::string& path) {
  if (is_stdout(path)) return std::make_unique<std::ostream>(std::cout.rdbuf());
  if (!is_special(path)) create_anew(path);
  errno = 0;
  auto file = std::make_unique<std::ofstream>(path, std::ios::binary | std::ios::app);
  if (!*file) fail(path);
  return file;
}

void require_writable(const std::string& path) {
  if (is_stdout(path)) return;
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) throw Error("cannot write " + path + ": it is a folder");
    if (::access(path.c_str(), W_OK) != 0) fail(path);
    return;
  }
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) fail(path);
}

bool stdout_is_terminal() { return ::isatty(STDOUT_FILENO) != 0; }

}  // namespace memflame
