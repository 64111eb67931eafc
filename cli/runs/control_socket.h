// SPDX-License-Identifier: BSD-2-Clause
// The socket through which `memflame control` reaches a run.
//
// It has an abstract name, memflame-control-PID, so no file stays behind whatever ends memflame. A
// message is one packet: a request, and then one answer, whose first byte is '+' (done), '-'
// (refused) or '!' (refused to this user). Root and the user who started memflame may ask. The
// server never waits: silent clients are dropped after a few seconds.
//
// The name is found only in the same network namespace, and the process id is compared with that of
// the kernel, so it must mean the same process to both: the same PID namespace.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/unique_fd.h"

namespace memflame {

struct ControlRequest {
  enum class Word : uint8_t { status, mark, snapshot, resume };
  Word word = Word::status;
  std::string name{};  // of a mark: valid UTF-8 without control characters
};

// The request of a message: "status", "mark NAME", "snapshot" or "resume". Throws Error(usage).
ControlRequest parse_control(std::string_view message);

class ControlServer {
 public:
  // Answers a request, now or later. Throws Error to refuse it.
  using Answer = std::function<std::future<std::string>(const ControlRequest&)>;

  // Root may ask, and `user`. Throws Error if the name is taken, or there are no such sockets.
  explicit ControlServer(uid_t user);

  // Answers what has arrived. Never blocks.
  void serve(const Answer& answer);
  // Sends the answers that are still due. Those that will not come become refusals.
  void finish();

 private:
  struct Client {
    UniqueFd fd;
    std::chrono::steady_clock::time_point since;
    std::optional<std::future<std::string>> answer{};  // the request was read
  };
  void accept_all();
  static bool is_done(Client& client, const Answer& answer);

  uid_t user_;
  UniqueFd listening_;
  std::vector<Client> clients_;
};

// Whether this process is a memflame that can be asked.
bool has_control_socket(pid_t pid);

// Sends a message to the memflame with this process id and returns its answer, of any bytes. Throws
// Error if it cannot be reached, is somebody else's, or refuses.
std::string ask_memflame(pid_t pid, const std::string& message, bool may_take_long);

}  // namespace memflame
