// SPDX-License-Identifier: BSD-2-Clause
// The spool's folder under its lock, and the bytes of its files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/recording.h"
#include "fleet/spool_counts.h"
#include "fleet/window.h"

namespace memflame {

inline constexpr uint64_t most_window_bytes = uint64_t{64} << 20U;

// A file of the spool: a line with the size and a checksum of what follows, then the window.
std::string spool_bytes(const Window& window);
// Throws Error that says what is wrong.
Window window_from_spool(std::string_view bytes);

// "0000001700000000000-ID.window", in the order of time.
std::string spool_name(const WindowHead& head);
bool is_spool_name(std::string_view name);
int64_t ended_ns_of(std::string_view spool_name);
std::string_view id_of(std::string_view spool_name);

// Holds the lock of a spool: no other process or thread changes its folder meanwhile.
class LockedSpool {
 public:
  // Throws Error if the lock cannot be had for some seconds.
  explicit LockedSpool(int folder, const std::string& path);
  LockedSpool(const LockedSpool&) = delete;
  LockedSpool& operator=(const LockedSpool&) = delete;

  SpoolCounts counts;
  bool save() { return write_counts(file_.get(), counts); }

  OutputCounts& of(const std::string& output) { return counts.outputs[output]; }
  SharedFd folder_of(const std::string& output);
  std::vector<std::string> outputs() const;  // those that have a folder

  // Removes a window from an output. False if it was not there.
  bool remove(const std::string& output, const std::string& name);
  // Drops the oldest windows until `bytes` more have room. False if they never will.
  bool make_room(uint64_t bytes, uint64_t most_bytes);
  void recount();

 private:
  SharedFd file_;     // closing it gives the lock back
  SharedFd outputs_;  // the folder of the outputs' folders
};

uint64_t disk_bytes(uint64_t bytes);  // in whole pages

}  // namespace memflame
