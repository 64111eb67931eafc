// SPDX-License-Identifier: BSD-2-Clause
// The one way to stop a run: throw Error. cli/main.cc catches it once, prints "memflame: error:
// <what>" and exits with `exit_code`.
#pragma once

#include <stdexcept>
#include <string>

namespace memflame {

// Documented in README.md; scripts may rely on them.
enum class ExitCode : int {
  ok = 0,
  failure = 1,           // bad target, unreadable input, unwritable output
  usage = 2,             // command line not understood
  requirement = 3,       // privilege or kernel feature missing
  lossy = 4,             // --strict, and something was lost
  found = 5,             // --check found wrong frees, or leaks --fail-on a stack that fails
  command_failed = 125,  // `-- COMMAND`: memflame itself failed
  cannot_execute = 126,
  not_found = 127,
};

struct Error : std::runtime_error {
  // Line ends in a message are printed only if they are memflame's own: names may contain any.
  enum class Form : unsigned char { line, lines };
  explicit Error(const std::string& what, ExitCode code = ExitCode::failure, Form as = Form::line)
      : std::runtime_error(what), exit_code(code), form(as) {}
  ExitCode exit_code;
  Form form;
};

}  // namespace memflame
