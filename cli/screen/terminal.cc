// SPDX-License-Identifier: BSD-2-Clause
#include "cli/screen/terminal.h"

#include <fcntl.h>
#include <langinfo.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>

#include "core/error.h"
#include "render/text/cells.h"
#include "render/text/clean_text.h"

#define NCURSES_NOMACROS  // "move", "clear" and others
#include <curses.h>

// As term.h declares it, which has macros for common words.
extern "C" int setupterm(const char* terminal, int file, int* error);

namespace memflame {
namespace {

constexpr int escape_ms = 25;  // what follows Esc so soon is one key
constexpr wchar_t ctrl_l = 12, delete_key = 127, ctrl_h = 8, ctrl_u = 21, escape_key = 27;
enum Pair : short { red = 1, yellow, cyan };

// What leaves the screen and shows the cursor.
std::string leaving_text() {
  std::string text;
  for (const char* name : {"sgr0", "cnorm", "rmkx", "rmcup"}) {
    const char* part = ::tigetstr(const_cast<char*>(name));
    // Padding, as in "$<5>", is for terminals of another time.
    if (part != nullptr && part != reinterpret_cast<char*>(-1) && std::strchr(part, '$') == nullptr)
      text += part;
  }
  return text;
}

// False for a job in the background, which must not draw.
bool is_foreground() {
  const pid_t group = ::tcgetpgrp(STDOUT_FILENO);
  return group < 0 || group == ::getpgrp();
}

// Standard output, unless it is open for writing only. Standard input may be the command's.
UniqueFd terminal_for_keys() {
  const bool reads = (::fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDWR;
  UniqueFd keys(reads ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
                      : ::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!keys)
    throw Error(
        "there is no terminal to read keys from: /dev/tty: " + std::string(std::strerror(errno)),
        ExitCode::usage);
  return keys;
}

// The letters as ncurses draws them. Where the C library does not know a letter, or knows another
// width, columns would not be straight: such a letter becomes '?'.
std::wstring letters_of(std::string_view text) {
  std::wstring letters;
  while (!text.empty()) {
    const char32_t point = take_point(text);
    const int width = cells_of(point);
    if (::wcwidth(static_cast<wchar_t>(point)) == width)
      letters += static_cast<wchar_t>(point);
    else
      letters.append(static_cast<size_t>(width), L'?');
  }
  return letters;
}

attr_t attributes_of(TopStyle style) {
  switch (style) {
    case TopStyle::strong:
      return A_BOLD;
    case TopStyle::faint:
      return A_DIM;
    case TopStyle::title:
      return A_UNDERLINE;
    case TopStyle::selected:
      return A_REVERSE;
    case TopStyle::alarm:
      return A_BOLD | A_REVERSE;
    case TopStyle::leak:
      return A_BOLD;
    case TopStyle::plain:
      break;
  }
  return A_NORMAL;
}

short colour_of(TopStyle style) {
  switch (style) {
    case TopStyle::title:
      return cyan;
    case TopStyle::alarm:
      return yellow;
    case TopStyle::leak:
      return red;
    default:
      return 0;
  }
}

bool start_colours() {
  const char* refused = std::getenv("NO_COLOR");
  if ((refused != nullptr && *refused != '\0') || !::has_colors()) return false;
  if (::start_color() == ERR) return false;
  const short background = ::use_default_colors() == OK ? short{-1} : short{COLOR_BLACK};
  ::init_pair(red, COLOR_RED, background);
  ::init_pair(yellow, COLOR_YELLOW, background);
  ::init_pair(cyan, COLOR_CYAN, background);
  return true;
}

std::optional<TopKey> named_key(wint_t code) {
  switch (code) {
    case KEY_UP:
      return TopKey::up;
    case KEY_DOWN:
      return TopKey::down;
    case KEY_LEFT:
      return TopKey::left;
    case KEY_RIGHT:
      return TopKey::right;
    case KEY_PPAGE:
      return TopKey::page_up;
    case KEY_NPAGE:
      return TopKey::page_down;
    case KEY_HOME:
      return TopKey::home;
    case KEY_END:
      return TopKey::end;
    case KEY_ENTER:
      return TopKey::enter;
    case KEY_BACKSPACE:
      return TopKey::backspace;
    default:
      return std::nullopt;
  }
}

std::optional<TopKey> control_key(wint_t letter) {
  if (letter == L'\n' || letter == L'\r') return TopKey::enter;
  if (letter == escape_key) return TopKey::escape;
  if (letter == ctrl_u) return TopKey::clear;
  if (letter == delete_key || letter == ctrl_h) return TopKey::backspace;
  return std::nullopt;
}

std::string utf8_of(wint_t letter) {
  std::array<char, 16> bytes{};
  std::mbstate_t state{};
  const size_t size = std::wcrtomb(bytes.data(), static_cast<wchar_t>(letter), &state);
  return size == static_cast<size_t>(-1) ? "" : std::string(bytes.data(), size);
}

}  // namespace

void require_terminal() {
  if (::isatty(STDOUT_FILENO) == 0)
    throw Error(
        "memflame top draws on a terminal, and standard output is not one; 'memflame leaks' prints "
        "the same stacks as text",
        ExitCode::usage);
  int found = 0;
  if (::setupterm(nullptr, STDOUT_FILENO, &found) == OK) return;
  const char* name = std::getenv("TERM");
  uint64_t replaced = 0;
  throw Error("the terminal's kind, TERM='" + clean_text(name == nullptr ? "" : name, replaced) +
                  "', is not known here: set TERM to xterm, or whatever fits, or use 'memflame "
                  "leaks'",
              ExitCode::usage);
}

Terminal::Terminal() {
  require_terminal();
  keys_ = terminal_for_keys();
  std::setlocale(LC_CTYPE, "");
  is_utf8_ = std::strcmp(::nl_langinfo(CODESET), "UTF-8") == 0;
  signals_.emplace(leaving_text());
  // newterm() handles the signals that end a program, which are the run's.
  struct sigaction interrupt {
  }, terminate{};
  ::sigaction(SIGINT, nullptr, &interrupt);
  ::sigaction(SIGTERM, nullptr, &terminate);
  in_ = ::fdopen(::fcntl(keys_.get(), F_DUPFD_CLOEXEC, 3), "r");
  screen_ = in_ == nullptr ? nullptr : ::newterm(nullptr, stdout, in_);
  ::sigaction(SIGINT, &interrupt, nullptr);
  ::sigaction(SIGTERM, &terminate, nullptr);
  if (screen_ == nullptr)
    throw Error("ncurses cannot use this terminal; use 'memflame leaks'", ExitCode::usage);
  hide_errors();
  ::cbreak();
  ::noecho();
  ::nonl();
  ::keypad(stdscr, TRUE);
  ::nodelay(stdscr, TRUE);
  ::set_escdelay(escape_ms);
  ::curs_set(0);
  has_colours_ = start_colours();
}

Terminal::~Terminal() {
  if (::isendwin() == FALSE) {
    // Some terminals have only one screen, on which lines follow now.
    ::erase();
    ::refresh();
    ::endwin();
  }
  signals_.reset();
  ::delscreen(screen_);
  std::fclose(in_);
  if (!errors_) return;
  ::dup2(errors_.get(), STDERR_FILENO);
  told_ = 0;
  for (std::string text = messages(); !text.empty(); text = messages())
    std::fwrite(text.data(), 1, text.size(), stderr);
}

// Only if it is a terminal, too: then it is this one.
void Terminal::hide_errors() {
  if (::isatty(STDERR_FILENO) == 0) return;
  kept_.reset(::memfd_create("memflame messages", MFD_CLOEXEC));
  errors_.reset(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
  if (!kept_ || !errors_ || ::dup2(kept_.get(), STDERR_FILENO) < 0) errors_.reset();
}

std::string Terminal::messages() {
  std::string text(size_t{64} << 10U, '\0');
  const ssize_t size =
      errors_ ? ::pread(kept_.get(), text.data(), text.size(), static_cast<off_t>(told_)) : 0;
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  told_ += text.size();
  return text;
}

TopSize Terminal::size() const {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    return {};
  return {size.ws_col, size.ws_row};
}

void Terminal::draw(const TopScreenful& screen) {
  if (!is_foreground()) return;
  const TopSize now = size();
  const auto rows = static_cast<int>(now.rows), columns = static_cast<int>(now.columns);
  if (rows != LINES || columns != COLS) ::resizeterm(rows, columns);
  if (is_stale_) {
    ::reset_prog_mode();
    ::clearok(stdscr, TRUE);
    is_stale_ = false;
  }
  ::erase();
  for (size_t y = 0; y < screen.lines.size(); ++y) {
    ::move(static_cast<int>(y), 0);
    for (const TopSpan& span : screen.lines[y]) {
      const short colour = has_colours_ ? colour_of(span.style) : short{0};
      ::attr_set(attributes_of(span.style), colour, nullptr);
      const std::wstring letters = letters_of(span.text);
      ::addnwstr(letters.c_str(), static_cast<int>(letters.size()));
    }
  }
  ::attr_set(A_NORMAL, 0, nullptr);
  ::curs_set(screen.cursor ? 1 : 0);
  if (screen.cursor)
    ::move(static_cast<int>(screen.lines.size()) - 1, static_cast<int>(*screen.cursor));
  ::refresh();
}

void Terminal::wait(int wake) {
  std::array<pollfd, 3> files{pollfd{keys_.get(), POLLIN, 0}, pollfd{signals_->fd(), POLLIN, 0},
                              pollfd{wake, POLLIN, 0}};
  if (!is_foreground()) files[0].fd = -1;  // reading would stop memflame
  if (::poll(files.data(), files.size(), -1) < 0) return;
  is_gone_ = (files[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
  take_signals();
}

void Terminal::take_signals() {
  const TerminalSignals::Arrived arrived = signals_->take();
  is_stale_ = is_stale_ || arrived.any;
  if (!arrived.stop) return;
  ::endwin();
  signals_->stop();
  is_stale_ = true;
}

std::optional<TopPress> Terminal::next_key() {
  if (!is_foreground()) return std::nullopt;
  while (true) {
    wint_t code = 0;
    const int kind = ::get_wch(&code);
    if (kind == ERR) return std::nullopt;
    const std::optional<TopKey> key = kind == KEY_CODE_YES ? named_key(code) : control_key(code);
    if (key) return TopPress{*key};
    if (kind != KEY_CODE_YES && code == ctrl_l) is_stale_ = true;
    if (kind == KEY_CODE_YES || code < L' ') continue;
    uint64_t replaced = 0;
    std::string letter = clean_text(utf8_of(code), replaced);
    if (replaced == 0) return TopPress{TopKey::letter, std::move(letter)};
  }
}

}  // namespace memflame
