// SPDX-License-Identifier: BSD-2-Clause
// Where a recording is written. The command line knows who owns its outputs and which links may be
// followed; the writer only needs descriptors.
#pragma once

#include <string>

namespace memflame {

class HistoryFile {
 public:
  HistoryFile() = default;
  HistoryFile(const HistoryFile&) = delete;
  HistoryFile& operator=(const HistoryFile&) = delete;
  virtual ~HistoryFile() = default;

  // For messages.
  virtual const std::string& name() const = 0;
  // Creates the file, empty, and returns a descriptor for reading and writing, which belongs to
  // this object. Throws Error.
  virtual int create() = 0;
  // The same for a second file next to it, which replace() then puts in the place of the first.
  virtual int create_copy() = 0;
  virtual void replace() = 0;
  // Removes the second file if there is one.
  virtual void discard_copy() noexcept = 0;
};

}  // namespace memflame
