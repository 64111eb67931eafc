// SPDX-License-Identifier: BSD-2-Clause
// The file of a recording that is read while it is written.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "collapse/history/file.h"
#include "collapse/source/source.h"
#include "core/recording.h"

namespace memflame {

// A recording that nobody else sees: a file without a name in $TMPDIR, /var/tmp or /tmp, which goes
// with memflame. Its name() says where that is.
std::unique_ptr<HistoryFile> private_recording();

// Knows the newest file of a recording, however often it is written anew.
class LiveFile {
 public:
  // The same file, observed. This object must outlive it.
  std::unique_ptr<HistoryFile> observed(std::unique_ptr<HistoryFile> file);

  // Bytes of the file so far; 0 if there is none.
  uint64_t size() const;
  // The file as it is now; it may grow. Reading throws Error once `gives_up` is true. Throws Error
  // if there is no file.
  Source open(const std::string& name, std::shared_ptr<const std::atomic<bool>> gives_up) const;

 private:
  class Observed;
  void set(SharedFd file);
  SharedFd get() const;

  mutable std::mutex mutex_;
  SharedFd file_;
};

}  // namespace memflame
