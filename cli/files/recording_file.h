// SPDX-License-Identifier: BSD-2-Clause
// The file of a recording, with the rules of output_file.h: no link of another user is followed,
// and it belongs to the caller.
#pragma once

#include <memory>
#include <string>

#include "cli/files/output_file.h"
#include "collapse/history/file.h"

namespace memflame {

// An existing file is replaced when the recording is created. Pipes and devices are refused,
// because a recording may have to be written anew. Throws Error.
std::unique_ptr<HistoryFile> recording_file(const std::string& path, Readers readers);

}  // namespace memflame
