// SPDX-License-Identifier: BSD-2-Clause
// The display of memflame top: draws and takes keys in a thread of its own, so that nothing that
// the user does delays the run, and nothing that the run does delays a key.
#pragma once

#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "cli/screen/terminal.h"
#include "core/unique_fd.h"
#include "render/top/top_data.h"
#include "render/top/top_model.h"

namespace memflame {

class TopScreen {
 public:
  // Takes over the terminal, until it is destroyed. Throws Error.
  explicit TopScreen(TopState state);
  ~TopScreen();
  TopScreen(const TopScreen&) = delete;
  TopScreen& operator=(const TopScreen&) = delete;

  // For the thread of the run.
  void show(TopData data);
  void say(const std::string& message);              // until the next key
  void propose(const std::string& file);             // for the next picture
  bool wants_end();                                  // throws what the display failed with
  std::optional<std::string> take_wanted_picture();  // the file to be written, once

 private:
  void run();
  void take_news();
  void take_keys();
  void want_picture(bool may_replace);
  TopSize settle();

  Terminal terminal_;
  UniqueFd wake_;  // an eventfd: something of what follows has changed
  std::mutex mutex_;
  std::optional<TopData> next_;
  std::optional<std::string> message_, file_, wanted_;
  bool ends_ = false, wants_end_ = false;
  std::exception_ptr failure_;

  // Only the display's thread uses these.
  TopState state_;
  TopData shown_;
  std::optional<TopData> held_;  // what came while the display was paused

  std::thread thread_;  // last member: starts when all others are there
};

}  // namespace memflame
