// SPDX-License-Identifier: BSD-2-Clause
// A folder where windows wait until their outputs have them. Several processes put windows there
// and one sends them; each of them may be killed at any time.
//
//   outputs/NAME/ENDED-ID.window  a window that waits for the output NAME
//   new/                          files that are being written
//   counts                        spool_counts.h; who holds its lock may change the folder
//
// A window for several outputs is one file with several names (hard links), so that each output
// has its own progress, and the last one to have it frees the bytes.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/recording.h"
#include "fleet/spool_counts.h"
#include "fleet/window.h"

namespace memflame {

class Spool {
 public:
  // Makes the folder, but not those above it. What a killed process left behind is tidied up.
  // Throws Error, also if others may write there.
  Spool(const std::string& folder, uint64_t most_bytes);

  // Puts a window where these outputs find it. "" when it is there for good; otherwise it was
  // dropped, and counted, and this says why. It never waits for an output. The oldest windows are
  // dropped when the spool would have more than its most bytes. Any thread may call it.
  std::string put(const Window& window, const std::vector<std::string>& outputs);

  SpoolCounts counts() const;
  uint64_t most_bytes() const { return most_bytes_; }
  // Counts what waits, in case a process was killed before it had counted.
  void recount();

 private:
  friend class SpoolReader;
  std::string put_bytes(const std::string& name, const std::string& bytes,
                        const std::vector<std::string>& outputs);
  std::string link_to_outputs(int fresh, const std::string& name, uint64_t bytes,
                              const std::vector<std::string>& outputs);
  void count_unwritten(const std::vector<std::string>& outputs);

  std::string path_;
  uint64_t most_bytes_;
  SharedFd folder_;
};

struct WaitingWindow {
  std::string name;  // of its file
  uint64_t bytes = 0;
  Window window;
};

// What waits for one output, for one thread.
class SpoolReader {
 public:
  SpoolReader(std::shared_ptr<Spool> spool, const std::string& output);

  // The oldest, at most `most` and not many bytes. They stay until done().
  std::vector<WaitingWindow> next(size_t most);
  enum class Fate : uint8_t { sent, refused };
  void done(std::span<const WaitingWindow> windows, Fate fate);

  // CLOCK_REALTIME, when the oldest one ended. None: nothing waits.
  std::optional<int64_t> oldest_ns();
  // Why files were thrown away since the last call, the last reason only; "" = none were.
  std::string take_problem();

 private:
  void list();
  std::optional<WaitingWindow> read(const std::string& name);
  void throw_away(const std::string& name, const std::string& why);

  std::shared_ptr<Spool> spool_;
  std::string output_;
  std::deque<std::string> names_;  // the oldest first; others may have come since
  std::string problem_;
};

}  // namespace memflame
