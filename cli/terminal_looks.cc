// SPDX-License-Identifier: BSD-2-Clause
#include "cli/terminal_looks.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/error.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

constexpr int least_columns = 20, most_columns = 1000;

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// As https://no-color.org has it, and terminals' own word for 24 bits.
bool has_truecolour() {
  const std::string_view colours = variable("COLORTERM");
  return variable("NO_COLOR").empty() && (colours == "truecolor" || colours == "24bit");
}

}  // namespace

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;  // the next one decides
    std::string text;
    for (const char* c = value; *c != '\0'; ++c)
      if (*c != '-') text += *c >= 'A' && *c <= 'Z' ? static_cast<char>(*c - 'A' + 'a') : *c;
    return text.find("utf8") != std::string::npos;
  }
  return false;
}

void fit_terminal(const po::variables_map& values, const Output& output, const std::string& path,
                  RenderOptions& render) {
  if (!output.is(as_cells)) return;
  render.utf8 = locale_is_utf8();
  const bool on_terminal = (path.empty() || path == "-") && ::isatty(STDOUT_FILENO) != 0;
  render.truecolour = on_terminal && has_truecolour();
  winsize size{};
  if (values.count("width") != 0 && !values["width"].defaulted()) {
    render.columns = render.width;
    render.width = RenderOptions{}.width;
    if (render.columns < least_columns || render.columns > most_columns)
      throw Error("--width of text takes 20 to 1000 columns", ExitCode::usage);
  } else if (on_terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) {
    render.columns = std::clamp<int>(size.ws_col, least_columns, most_columns);
  }
}

}  // namespace memflame
