// SPDX-License-Identifier: BSD-2-Clause
#include "cli/files/command_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "cli/files/output_file.h"
#include "core/error.h"
#include "core/units.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

std::string temporary_path() {
  const char* folder = std::getenv("TMPDIR");
  return std::string(folder == nullptr || *folder == '\0' ? "/tmp" : folder) + "/memflame-top-" +
         std::to_string(::getpid()) + ".out";
}

// Somebody else may have put a file there meanwhile: it is left alone.
void remove_temporary(const std::string& path) noexcept {
  try {
    remove_output(path);
  } catch (const Error& error) {
    std::cerr << "memflame: " << error.what() << "\n";
  }
}

}  // namespace

CommandOutput::CommandOutput(const std::string& path)
    : is_temporary_(path.empty()),
      path_(is_temporary_ ? temporary_path() : path),
      file_(open_output(path_, is_temporary_ ? Readers::owner : Readers::by_umask)) {
  if (::isatty(file_.get()) != 0)
    throw Error("-o " + path_ + ": the command's output would disturb the screen: name a file",
                ExitCode::usage);
  if (::isatty(STDIN_FILENO) == 0) return;
  nothing_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing_) throw Error(std::string("/dev/null: ") + std::strerror(errno));
}

CommandOutput::~CommandOutput() {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  uint64_t replaced = 0;
  if (status.st_size != 0)
    std::cerr << "memflame: the command wrote " << iec_bytes(status.st_size) << " -> "
              << clean_text(path_, replaced) << "\n";
  else if (is_temporary_)
    remove_temporary(path_);
}

CommandStreams CommandOutput::streams() const {
  return {.in = nothing_.get(), .out = file_.get(), .err = file_.get()};
}

}  // namespace memflame
