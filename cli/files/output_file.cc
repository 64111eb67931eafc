// SPDX-License-Identifier: BSD-2-Clause
#include "cli/files/output_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <optional>

#include "cli/files/fd_stream.h"
#include "core/as_caller.h"
#include "core/error.h"
#include "core/own_path.h"
#include "core/stop_request.h"

namespace memflame {
namespace {

bool is_stdout(const std::string& path) { return path.empty() || path == "-"; }

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw Error("cannot write " + path + ": " + why);
}
[[noreturn]] void fail(const std::string& path, int error) {
  if (error == EINTR) fail(path, "a signal ended memflame while nobody read it");
  fail(path, denial_text(error));
}

[[noreturn]] void cannot_write(const std::string& path, const Error& error) {
  const std::string what = error.what();
  if (what.starts_with("cannot write ")) throw Error(what, error.exit_code);
  throw Error("cannot write " + path + ": " + what, error.exit_code);
}

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

// How long the reader of a pipe may take to come: `cat PIPE & memflame … -o PIPE` starts both at
// once.
constexpr int patience_ms = 5000, look_ms = 20;

// Character devices that only take bytes; opening others can have effects. The numbers are those of
// Documentation/admin-guide/devices.txt in the kernel's sources.
bool is_harmless_device(dev_t device) {
  constexpr unsigned memory = 1, null = 3, full = 7;
  if (major(device) == memory) return minor(device) == null || minor(device) == full;
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

// A terminal's owner is whoever logged in there. Nobody can put a device where it does not belong.
void refuse_unfit(const std::string& path, const FilePlace& place, const struct stat& status) try {
  if (!S_ISCHR(status.st_mode)) refuse_foreign(place, status);
  // Another user could have given a pipe of root's a second name.
  if (S_ISFIFO(status.st_mode) && status.st_nlink > 1)
    fail(path, "it is a pipe with several names (hard links)");
  if (S_ISDIR(status.st_mode)) fail(path, "it is a folder");
  if (S_ISBLK(status.st_mode)) fail(path, "it is a block device");
  if (S_ISSOCK(status.st_mode)) fail(path, "it is a socket");
  if (S_ISCHR(status.st_mode) && !is_harmless_device(status.st_rdev))
    fail(path, "it is a device, neither a terminal nor /dev/null");
} catch (const Error& error) {
  cannot_write(path, error);
}

Destination destination_of(const std::string& path) try {
  const AsCaller rights;
  Destination to{place_of(path)};
  std::optional<struct stat> status = to.place.status();
  // A link to a file is replaced, like the file itself. A link may lead to something written in
  // place; a folder is refused.
  if (status && S_ISLNK(status->st_mode) && may_follow(to.place, *status)) {
    refuse_unfit(path, to.place, *status);
    FilePlace end = place_of(path, true);
    const std::optional<struct stat> there = end.status();
    if (there && !S_ISREG(there->st_mode)) {
      to.place = std::move(end);
      status = there;
    }
  }
  if (!status) return to;
  refuse_unfit(path, to.place, *status);
  to.type = status->st_mode & S_IFMT;
  to.as_it_is = S_ISFIFO(status->st_mode) || S_ISCHR(status->st_mode);
  return to;
} catch (const Error& error) {
  // The path is already in it.
  const std::string what = error.what();
  throw Error((what.starts_with("cannot write ") ? "" : "cannot write ") + what, error.exit_code);
}

// Opens what is not replaced but written in place: a device, a pipe. Without a reader a pipe is
// opened by O_NONBLOCK only after it has one; other ways to open it wait for ever.
UniqueFd open_as_it_is(const std::string& path, const Destination& to) {
  const AsCaller rights;
  const StopRequest stop;
  UniqueFd file;
  for (int waited = 0;; waited += look_ms) {
    file.reset(::openat(to.place.folder.get(), to.place.name.c_str(),
                        O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
    if (file || errno != ENXIO || to.type != S_IFIFO) break;
    if (stop.is_made()) fail(path, EINTR);
    if (waited >= patience_ms) fail(path, "nobody reads this pipe: start its reader first");
    ::poll(nullptr, 0, look_ms);
  }
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) fail(path, errno);
  refuse_unfit(path, to.place, status);
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

void give_name(const std::string& path, const FilePlace& partial, const FilePlace& place) try {
  if (!rename_file(partial, place)) fail(path, errno);
} catch (const Error& error) {
  cannot_write(path, error);
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
    give_name(path, partial, place);
  } catch (...) {
    remove_file(partial);
    throw;
  }
}

UniqueFd open_any(const std::string& path, Readers readers) {
  if (const std::optional<int> descriptor = descriptor_named(path))
    return duplicate(path, *descriptor);
  const Destination to = destination_of(path);
  return to.as_it_is ? open_as_it_is(path, to) : create(path, to.place, readers);
}

UniqueFd standard_output() {
  std::cout.flush();
  return duplicate("standard output", STDOUT_FILENO);
}

}  // namespace

void write_output(const std::string& path, const std::function<void(std::ostream&)>& write,
                  Readers readers) {
  if (is_stdout(path)) {
    FdStream out(standard_output());
    write(out);
    if (!out.buffer().close() || !out) throw Error("standard output could not be written");
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
  if (to.type == S_IFREG) remove_file(to.place);
}

std::unique_ptr<std::ostream> open_lines(const std::string& path, Readers readers) {
  return std::make_unique<FdStream>(is_stdout(path) ? standard_output() : open_any(path, readers));
}

UniqueFd open_output(const std::string& path, Readers readers) {
  UniqueFd file = open_any(path, readers);
  // A program does not expect that a write is refused because its reader is slow. The flag is that
  // of the opening, which may be another program's.
  if (!descriptor_named(path) && ::fcntl(file.get(), F_SETFL, 0) != 0) fail(path, errno);
  return file;
}

void require_writable(const std::string& path) {
  if (is_stdout(path) || descriptor_named(path)) return;
  const AsCaller rights;
  const Destination to = destination_of(path);
  const int folder = to.place.folder.get();
  if (to.type != 0 && to.type != S_IFLNK) {
    if (::faccessat(folder, to.place.name.c_str(), W_OK, AT_EACCESS) != 0) fail(path, errno);
    if (to.as_it_is) return;
  }
  if (::faccessat(folder, ".", W_OK | X_OK, AT_EACCESS) != 0) fail(path, errno);
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

void refuse_terminal(const std::string& path, std::string_view suffix) {
  if (!is_stdout(path) || ::isatty(STDOUT_FILENO) == 0) return;
  std::string kind(suffix.substr(1));
  for (char& letter : kind) letter = static_cast<char>(std::toupper(letter));
  // By the name of its first letter: an SVG, a PDF.
  const bool is_vowel = std::string_view("AEFHILMNORSX").find(kind[0]) != std::string_view::npos;
  const std::string file = "graph" + std::string(suffix);
  throw Error((is_vowel ? "an " : "a ") + kind + " is not for a terminal: add -o " + file +
                  ", or redirect with '> " + file + "' (or use --format text)",
              ExitCode::usage);
}

}  // namespace memflame
