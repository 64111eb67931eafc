// SPDX-License-Identifier: BSD-2-Clause
#include "render/text/ordered_text.h"

#include <exception>
#include <thread>
#include <utility>

namespace memflame {

bool OrderedText::add(size_t chunk, std::string& text) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failed_ || turn_ == chunk; });
  write(text);
  return !failed_;
}

bool OrderedText::end(size_t chunk, std::string& text) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failed_ || chunk < turn_ + ahead_; });
  if (failed_) return false;
  if (turn_ != chunk) {
    ended_.emplace(chunk, std::exchange(text, spare()));
    return true;
  }
  write(text);
  ++turn_;
  for (auto next = ended_.begin(); next != ended_.end() && next->first == turn_; ++turn_) {
    write(next->second);
    spare_.push_back(std::move(next->second));
    next = ended_.erase(next);
  }
  changed_.notify_all();
  return true;
}

std::string OrderedText::spare() {
  if (spare_.empty()) return {};
  std::string text = std::move(spare_.back());
  spare_.pop_back();
  return text;
}

void OrderedText::fail() {
  const std::lock_guard lock(mutex_);
  failed_ = true;
  changed_.notify_all();
}

void OrderedText::write(std::string& text) {
  if (!failed_) out_.write(text.data(), static_cast<std::streamsize>(text.size()));
  text.clear();
}

void write_in_order(std::ostream& out, unsigned threads,
                    const std::function<void(unsigned thread, OrderedText& text)>& work) {
  OrderedText text(out, threads);
  std::vector<std::exception_ptr> failures(threads);
  const auto run = [&](unsigned thread) {
    try {
      work(thread, text);
    } catch (...) {
      failures[thread] = std::current_exception();
      text.fail();
    }
  };
  {
    std::vector<std::jthread> others;
    for (unsigned thread = 1; thread < threads; ++thread) others.emplace_back(run, thread);
    run(0);
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace memflame
