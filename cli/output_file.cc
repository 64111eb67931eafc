// SPDX-License-Identifier: BSD-2-Clause
#include "cli/output_file.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <optional>

#include "cli/fd_stream.h"
#include "core/error.h"
#include "probes/own_path.h"

namespace memflame {
namespace {

bool is_stdout(const std::string& path) { return path.empty() || path == "-"; }

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw Error("cannot write " + path + ": " + why);
}
[[noreturn]] void fail(const std::string& path, int error) { fail(path, std::strerror(error)); }

// The caller's own descriptor, if the path names one.
std::optional<int> descriptor_named(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const std::string_view digits = path.substr(folder.size());
    int number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error == std::errc{} && end == digits.data() + digits.size()) return number;
  }
  return std::nullopt;
}

// Character devices that only take bytes; opening others can have effects. The numbers are those of
// Documentation/admin-guide/devices.txt in the kernel's sources.
bool is_harmless_device(dev_t device) {
  constexpr unsigned memory = 1, null = 3, zero = 5, full = 7;
  if (major(device) == memory)
    return minor(device) == null || minor(device) == zero || minor(device) == full;
  constexpr std::array<unsigned, 5> terminals{4, 5, 188, 204, 229};
  for (const unsigned number : terminals)
    if (major(device) == number) return true;
  return major(device) >= 136 && major(device) <= 143;  // pseudo-terminals
}

// Where an output goes: to something written in place, or into a folder.
struct Destination {
  FilePlace place;
  bool as_it_is = false;
  mode_t type = 0;  // of the existing file; 0 = none
};

void refuse_unfit(const std::string& path, const struct stat& status) {
  if (S_ISDIR(status.st_mode)) fail(path, "it is a folder");
  if (S_ISBLK(status.st_mode)) fail(path, "it is a block device");
  if (S_ISSOCK(status.st_mode)) fail(path, "it is a socket");
  if (S_ISCHR(status.st_mode) && !is_harmless_device(status.st_rdev))
    fail(path, "it is a device, neither a terminal nor /dev/null");
}

Destination destination_of(const std::string& path) try {
  Destination to{place_of(path)};
  std::optional<struct stat> status = to.place.status();
  // A link to a file is replaced, like the file itself. A link may lead to something written in
  // place; a folder is refused.
  if (status && S_ISLNK(status->st_mode) && may_follow(to.place, *status)) {
    FilePlace end = place_of(path, true);
    const std::optional<struct stat> there = end.status();
    if (there && !S_ISREG(there->st_mode)) {
      to.place = std::move(end);
      status = there;
    }
  }
  if (!status) return to;
  refuse_unfit(path, *status);
  to.type = status->st_mode & S_IFMT;
  to.as_it_is = S_ISFIFO(status->st_mode) || S_ISCHR(status->st_mode);
  return to;
} catch (const Error& error) {
  const std::string what = error.what();
  if (what.starts_with("cannot write ")) throw;
  throw Error("cannot write " + what);
}

// Opens what is not replaced but written in place: a device, a pipe.
UniqueFd open_as_it_is(const std::string& path, const Destination& to) {
  UniqueFd file(::openat(to.place.folder.get(), to.place.name.c_str(),
                         O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) fail(path, errno);
  refuse_unfit(path, status);
  if ((status.st_mode & S_IFMT) != to.type) fail(path, "it was replaced meanwhile");
  return file;
}

UniqueFd duplicate(const std::string& path, int descriptor) {
  UniqueFd file(::fcntl(descriptor, F_DUPFD_CLOEXEC, 3));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) fail(path, errno);
  if (S_ISBLK(status.st_mode)) fail(path, "it is a block device");
  return file;
}

UniqueFd create(const std::string& path, const FilePlace& place, Readers readers,
                bool reads = false) try {
  return create_file(place, readers == Readers::owner ? 0600 : 0666, reads);
} catch (const Error& error) {
  fail(path, error.what());
}

void write_all(const std::string& path, UniqueFd fd,
               const std::function<void(std::ostream&)>& write) {
  FdStream file(std::move(fd));
  write(file);
  if (!file.buffer().close()) fail(path, file.buffer().error());
  if (!file) fail(path, "writing failed");
}

// Calls `write` with a file of its own next to the final place, which it takes when complete.
void replace_file(const std::string& path, const FilePlace& place, Readers readers, bool reads,
                  const std::function<void(UniqueFd file)>& write) {
  const int folder = place.folder.get();
  const FilePlace partial{UniqueFd(::fcntl(folder, F_DUPFD_CLOEXEC, 3)),
                          place.name + "." + std::to_string(::getpid()) + ".partial"};
  UniqueFd file = create(path, partial, readers, reads);
  try {
    write(std::move(file));
    if (::renameat(folder, partial.name.c_str(), folder, place.name.c_str()) != 0)
      fail(path, errno);
  } catch (...) {
    ::unlinkat(folder, partial.name.c_str(), 0);
    throw;
  }
}

}  // namespace

void write_output(const std::string& path, const std::function<void(std::ostream&)>& write,
                  Readers readers) {
  if (is_stdout(path)) {
    errno = 0;
    write(std::cout);
    std::cout.flush();
    if (!std::cout) throw Error("standard output could not be written");
    return;
  }
  if (const std::optional<int> descriptor = descriptor_named(path))
    return write_all(path, duplicate(path, *descriptor), write);
  const Destination to = destination_of(path);
  if (to.as_it_is) return write_all(path, open_as_it_is(path, to), write);
  replace_file(path, to.place, readers, false,
               [&](UniqueFd file) { write_all(path, std::move(file), write); });
}

void write_file(const std::string& path, const std::function<void(int fd)>& write) {
  if (!is_file(path))
    throw Error("cannot write " + path + ": it is not a file, and it has to be read again",
                ExitCode::usage);
  replace_file(path, destination_of(path).place, Readers::by_umask, true, [&](UniqueFd file) {
    write(file.get());
    // Some file systems notice only now that there is no room.
    if (::close(file.release()) != 0) fail(path, errno);
  });
}

void remove_output(const std::string& path) {
  const Destination to = destination_of(path);
  if (to.type == S_IFREG) ::unlinkat(to.place.folder.get(), to.place.name.c_str(), 0);
}

std::unique_ptr<std::ostream> open_lines(const std::string& path, Readers readers) {
  if (is_stdout(path)) return std::make_unique<std::ostream>(std::cout.rdbuf());
  return std::make_unique<FdStream>(open_output(path, readers));
}

UniqueFd open_output(const std::string& path, Readers readers) {
  if (const std::optional<int> descriptor = descriptor_named(path))
    return duplicate(path, *descriptor);
  const Destination to = destination_of(path);
  return to.as_it_is ? open_as_it_is(path, to) : create(path, to.place, readers);
}

void require_writable(const std::string& path) {
  if (is_stdout(path) || descriptor_named(path)) return;
  const Destination to = destination_of(path);
  const int folder = to.place.folder.get();
  if (to.type != 0 && to.type != S_IFLNK) {
    if (::faccessat(folder, to.place.name.c_str(), W_OK, 0) != 0) fail(path, errno);
    if (to.as_it_is) return;
  }
  if (::faccessat(folder, ".", W_OK | X_OK, 0) != 0) fail(path, errno);
}

bool is_file(const std::string& path) {
  return !is_stdout(path) && !descriptor_named(path) && !destination_of(path).as_it_is;
}

std::string numbered_name(const std::string& path, std::string_view suffix, unsigned number) {
  const size_t name = path.rfind('/') + 1;  // 0 if there is none
  size_t at = path.size();
  if (path.ends_with(suffix) && path.size() - name > suffix.size())
    at -= suffix.size();
  else if (const size_t dot = path.rfind('.'); dot != std::string::npos && dot > name)
    at = dot;
  return path.substr(0, at) + "." + std::to_string(number) + path.substr(at);
}

void refuse_picture_on_terminal(const std::string& path, std::string_view format) {
  const bool is_picture = format == "svg" || format == "png" || format == "pdf";
  if (!is_stdout(path) || !is_picture || ::isatty(STDOUT_FILENO) == 0) return;
  const std::string kind = format == "svg" ? "an SVG" : format == "png" ? "a PNG" : "a PDF";
  const std::string file = "graph." + std::string(format);
  throw Error(kind + " is not for a terminal: add -o " + file + ", or redirect with '> " + file +
                  "' (or use --format text)",
              ExitCode::usage);
}

}  // namespace memflame
