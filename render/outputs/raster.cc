// SPDX-License-Identifier: BSD-2-Clause
// The flame graph as PNG or PDF, drawn from the SVG without script.
//
// XML, text layout and fonts take much foreign code, and names come from anyone. So a forked
// process without capabilities draws, and hands the file back through a socket: whatever happens to
// it becomes an error, and what it loads is gone afterwards.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "core/error.h"
#include "core/sandbox.h"
#include "render/output.h"
#include "render/outputs/raster_library.h"

namespace memflame {
namespace {

// What the process sends begins with one of the first two, and ends with the last one.
constexpr char is_picture = 'P', is_error = 'E', is_end = '.';

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::write(socket, bytes.data(), bytes.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

// In the child.
[[noreturn]] void draw(RasterForm form, std::string_view svg, int own_end) {
  // fontconfig would write its cache, too, but no file may grow.
  if (!enter_sandbox(own_end, {.opens_files = true, .name = "memflame-draws"})) ::_exit(1);
  constexpr int socket = 0;
  bool done = false;
  std::string_view first(&is_picture, 1);
  try {
    draw_raster(form, svg, [&](std::string_view piece) {
      const bool sent = send_all(socket, first) && send_all(socket, piece);
      first = {};
      return sent;
    });
    done = first.empty() && send_all(socket, {&is_end, 1});
  } catch (const std::exception& error) {
    // Pieces that were sent already are told by the missing end.
    if (!first.empty()) done = send_all(socket, is_error + std::string(error.what()) + is_end);
  }
  ::_exit(done ? 0 : 1);
}

std::string read_all(int socket) {
  std::string text;
  std::array<char, 1 << 16> part{};
  while (true) {
    const ssize_t got = ::read(socket, part.data(), part.size());
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
  const Apart apart =
      start_apart("draws the picture", [&](int own_end) { draw(form, svg, own_end); });
  const std::string told = read_all(apart.socket);
  ::close(apart.socket);
  const std::string end = how_it_ended(apart.pid);
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
