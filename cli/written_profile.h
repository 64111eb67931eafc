// SPDX-License-Identifier: BSD-2-Clause
// Where a profile goes and how it looks there, as the options of drawing_options() say.
#pragma once

#include <boost/program_options.hpp>
#include <string>

#include "cli/files/output_file.h"
#include "core/profile.h"
#include "render/output.h"
#include "render/transform.h"

namespace memflame {

struct Written {
  const Output& format;
  std::string path;  // "" and "-" are standard output
  RenderOptions render{};
  Transform transform{};
  Readers readers = Readers::by_umask;
};

// Throws Error if an option is wrong or the file cannot be written. `standard` is the format if
// neither an option nor the file's name says one.
Written written_as(const boost::program_options::variables_map& values,
                   const std::string& standard);

// Throws Error (usage) if an option of drawing_options() concerns what --list does not write.
void refuse_looks_of_list(const boost::program_options::variables_map& values);

// Writes what --list prints to the file of --output, and says on standard error what was lost.
void write_list(const Profile& profile, const boost::program_options::variables_map& values);

// Says on standard error what was lost, and which parts of an input were not understood.
void warn_of_losses(const Profile& profile);

// Writes the profile, and says on standard error what was lost.
void write_profile(Profile profile, Written written);

}  // namespace memflame
