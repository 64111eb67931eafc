// SPDX-License-Identifier: BSD-2-Clause
// A queue from one thread to another.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

namespace memflame {

template <class Message>
class Mailbox {
 public:
  void put(Message message) {
    {
      const std::lock_guard lock(mutex_);
      messages_.push_back(std::move(message));
    }
    arrived_.notify_one();
  }

  // Waits for the next message; none once the thread is asked to stop.
  std::optional<Message> take(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    if (!arrived_.wait(lock, stop, [this] { return !messages_.empty(); }) || stop.stop_requested())
      return std::nullopt;
    std::optional<Message> first(std::move(messages_.front()));
    messages_.pop_front();
    return first;
  }

  // All messages that are waiting now.
  std::deque<Message> take_all() {
    const std::lock_guard lock(mutex_);
    return std::exchange(messages_, {});
  }

  // Takes out the first message for which `wanted` holds.
  template <class Predicate>
  std::optional<Message> withdraw(Predicate wanted) {
    const std::lock_guard lock(mutex_);
    for (auto it = messages_.begin(); it != messages_.end(); ++it) {
      if (!wanted(*it)) continue;
      std::optional<Message> found(std::move(*it));
      messages_.erase(it);
      return found;
    }
    return std::nullopt;
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any arrived_;
  std::deque<Message> messages_;
};

}  // namespace memflame
