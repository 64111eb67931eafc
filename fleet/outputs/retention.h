// SPDX-License-Identifier: BSD-2-Clause
// The files of a directory output, FOLDER/SERVICE/DAY/TIME-ID.SUFFIX, and when they are removed.
// Other files are never touched.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>

namespace memflame {

// "2026-11-26" and "20261126T150000Z".
std::string day_text(time_t time);
std::string instant_text(time_t time);

class Retention {
 public:
  Retention(double keep_seconds, uint64_t most_bytes)
      : keep_seconds_(keep_seconds), most_bytes_(most_bytes) {}

  void note_new(uint64_t bytes) {
    if (bytes_) *bytes_ += bytes;
  }
  // Removes what is too old, and the oldest files of what is too much. Cheap if neither is due.
  // Throws Error if a folder cannot be read.
  void tidy(int root, time_t now);

 private:
  void remove_from_day(int root, const std::string& day, const std::string& oldest,
                       uint64_t target);

  double keep_seconds_;
  uint64_t most_bytes_;
  std::optional<uint64_t> bytes_;  // of all files; none: not counted yet
  time_t next_look_ = 0, next_count_ = 0;
};

}  // namespace memflame
