// SPDX-License-Identifier: BSD-2-Clause
// The flame graph as PNG or PDF, drawn from the SVG without script.
//
// XML, text layout and fonts take much foreign code, and names come from anyone. So a forked
// process without capabilities draws, and hands the file back through a pipe: whatever happens to
// it becomes an error, and what it loads is gone afterwards.
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sstream>

#include "core/error.h"
#include "render/output.h"
#include "render/outputs/raster_library.h"

namespace memflame {
namespace {

// What the process sends begins with one of the first two, and ends with the last one.
constexpr char is_picture = 'P', is_error = 'E', is_end = '.';
constexpr int to_parent = 3;

bool send_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::write(to_parent, bytes.data(), bytes.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

// Fonts have to be opened, so the filter of `memflame-names` would not do.
void give_up_rights() {
  ::prctl(PR_SET_NAME, "memflame-draws");
  ::prctl(PR_SET_DUMPABLE, 0);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> none{};
  ::syscall(SYS_capset, &header, none.data());
  const rlimit nothing{0, 0};
  ::setrlimit(RLIMIT_CORE, &nothing);
  // It writes to the pipe only; fontconfig would update its cache.
  ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &nothing);
}

// In the child.
[[noreturn]] void draw_apart(RasterForm form, std::string_view svg, int pipe) {
  bool done = false;
  if (pipe == to_parent || ::dup2(pipe, to_parent) == to_parent) {
    ::syscall(SYS_close_range, to_parent + 1, ~0U, 0);
    give_up_rights();
    std::string_view first(&is_picture, 1);
    try {
      draw_raster(form, svg, [&](std::string_view piece) {
        const bool sent = send_all(first) && send_all(piece);
        first = {};
        return sent;
      });
      done = first.empty() && send_all({&is_end, 1});
    } catch (const std::exception& error) {
      // Pieces that were sent already are told by the missing end.
      if (!first.empty()) done = send_all(is_error + std::string(error.what()) + is_end);
    }
  }
  ::_exit(done ? 0 : 1);
}

std::string read_all(int pipe) {
  std::string text;
  std::array<char, 1 << 16> part{};
  while (true) {
    const ssize_t got = ::read(pipe, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(part.data(), static_cast<size_t>(got));
  }
}

std::string how_it_ended(pid_t child) {
  int status = 0;
  pid_t got = 0;
  do {
    got = ::waitpid(child, &status, 0);
  } while (got < 0 && errno == EINTR);
  if (got != child) return "";
  if (WIFSIGNALED(status)) return std::string(" by ") + ::strsignal(WTERMSIG(status));
  return " with exit code " + std::to_string(WEXITSTATUS(status));
}

std::string drawn_apart(RasterForm form, const std::string& svg) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw Error(std::string("no pipe for the process that draws: ") + std::strerror(errno));
  const pid_t child = ::fork();
  const int error = errno;
  if (child == 0) draw_apart(form, svg, ends[1]);
  ::close(ends[1]);
  std::string told;
  if (child > 0) told = read_all(ends[0]);
  ::close(ends[0]);
  if (child < 0)
    throw Error(std::string("no process for drawing can be started: ") + std::strerror(error));
  const std::string end = how_it_ended(child);
  const bool whole = told.size() >= 2 && told.back() == is_end;
  if (!whole || (told.front() != is_picture && told.front() != is_error))
    throw Error("the process that draws the picture ended" + end +
                " before it was complete: write an SVG, or draw fewer boxes (--max-boxes)");
  std::string content = told.substr(1, told.size() - 2);
  if (told.front() == is_error) throw Error(content);
  return content;
}

void write_raster(std::ostream& out, const Profile& profile, RenderOptions options,
                  RasterForm form) {
  options.script = false;
  options.fragment = false;
  std::ostringstream svg;
  write_svg(svg, profile, options);
  out << drawn_apart(form, svg.str());
}

}  // namespace

void write_png(std::ostream& out, const Profile& profile, const RenderOptions& options) {
  write_raster(out, profile, options, RasterForm::png);
}

void write_pdf(std::ostream& out, const Profile& profile, const RenderOptions& options) {
  write_raster(out, profile, options, RasterForm::pdf);
}

}  // namespace memflame
