// SPDX-License-Identifier: BSD-2-Clause
// The files that a command will map: its programs, their scripts' interpreters, loaders and
// libraries.
#pragma once

#include <string>
#include <vector>

#include "probes/options.h"

namespace memflame {

// The file that a command of this name runs, as execvp finds it: a name with a slash as it is,
// others along PATH. Throws Error if there is none (exit code 127), or it cannot be run (126).
std::string find_program(const std::string& name);

// The program and the shared libraries that the dynamic loader would map for it, by asking the
// loader with LD_PRELOAD=`preload`. The program itself does not run, but the loader that it names
// does: as `user`, or as memflame's user if that is "".
std::vector<std::string> libraries_of(const std::string& program, const std::string& preload = "",
                                      const std::string& user = "");

// The words of a command that will run as programs: the first, and behind one that runs its
// arguments (env, timeout, sh …) the next that is a program. Other words may name programs too, as
// in `objdump -d FILE`, and nothing that those say may run.
std::vector<std::string> programs_of(const std::vector<std::string>& argv);

// The libraries of all of these. `env LD_PRELOAD=FILE` puts another allocator before a program.
std::vector<std::string> files_of_command(const Target& target);

}  // namespace memflame
