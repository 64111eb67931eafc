// SPDX-License-Identifier: BSD-2-Clause
// Shows one page to browsers of this machine, and replaces it from time to time.
//
// A process of its own serves it, without any right: it reads what clients send, and a client that
// is slow or stalls keeps nothing but that process waiting.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/unique_fd.h"

namespace memflame {

class PageServer {
 public:
  // Begins to listen on 127.0.0.1; port 0 is a free one. Call it while memflame has one thread.
  // Throws Error.
  explicit PageServer(uint16_t port);
  // Ends the process, whatever its clients do.
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  // "http://127.0.0.1:PORT/TOKEN/"
  const std::string& address() const { return address_; }
  // Whether a browser has asked for the page or its state since the last call; waits for that, not
  // longer than `patience`. Throws Error if the process has ended.
  bool is_asked(std::chrono::milliseconds patience);
  // The page, and beside it a small state for those who have the page: JSON, at ADDRESS + "state".
  // Clients wait until there is a first one.
  // Throws Error if the process has ended.
  void show(std::string_view state, std::string_view page);

 private:
  pid_t pid_ = -1;
  UniqueFd socket_;
  std::string address_;
};

}  // namespace memflame
