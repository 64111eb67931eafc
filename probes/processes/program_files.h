// SPDX-License-Identifier: BSD-2-Clause
// Finds the files that a command will map: its programs, the interpreters of scripts, loaders and
// libraries. They are looked for before the command runs, so that probes are attached first.
#pragma once

#include <string>
#include <vector>

#include "core/unique_fd.h"
#include "probes/options/options.h"

namespace memflame {

// The file that a command of this name runs, as execvp finds it: a name with a slash is a path,
// others are looked up in PATH. Throws Error if there is none (exit code 127) or it cannot be
// executed (126).
std::string find_program(const std::string& name);

// Opens a regular file for reading; none if there is no such file. What another program names may
// be a pipe or a device: these are not even opened.
UniqueFd open_file(const std::string& path);

// The program that runs: a script's interpreter, also of an interpreter that is a script.
std::string program_file(const std::string& program);

// Whether the program's loader is that of the machine's C library: it may be asked for libraries.
bool has_usual_loader(const std::string& program);

// The program and the shared libraries that the dynamic loader would map for it. Asks the loader
// with LD_PRELOAD=`preload`: the program itself does not run, but the loader that it names does, as
// `user` (memflame's user if that is "").
std::vector<std::string> libraries_of(const std::string& program, const std::string& preload = "",
                                      const std::string& user = "");

// The words of a command that will run as programs: the first, and behind a program that runs its
// arguments (env, timeout, sh …) the next that is a program. A later word may name a program that
// will not run, as in `objdump -d FILE`; its loader must not run either.
std::vector<std::string> programs_of(const std::vector<std::string>& argv);

// The files of all programs of the target's command, each once. Honours `env LD_PRELOAD=FILE`,
// which puts another allocator before a program.
std::vector<std::string> files_of_command(const Target& target);

}  // namespace memflame
