// SPDX-License-Identifier: BSD-2-Clause
#include "cli/screen/top_screen.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "cli/files/output_file.h"
#include "core/error.h"
#include "core/own_path.h"
#include "render/text/clean_text.h"
#include "render/top/top_layout.h"

namespace memflame {
namespace {

// The last line of what memflame has said meanwhile.
std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return clean_text(std::string_view(text).substr(text.rfind('\n') + 1));
}

}  // namespace

TopScreen::TopScreen(TopState state)
    : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      state_(std::move(state)),
      thread_([this] { run(); }) {}

TopScreen::~TopScreen() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ::eventfd_write(wake_.get(), 1);
  thread_.join();
}

void TopScreen::show(TopData data) {
  {
    const std::lock_guard lock(mutex_);
    next_ = std::move(data);
  }
  ::eventfd_write(wake_.get(), 1);
}

void TopScreen::say(const std::string& message) {
  {
    const std::lock_guard lock(mutex_);
    message_ = clean_text(message);
  }
  ::eventfd_write(wake_.get(), 1);
}

void TopScreen::propose(const std::string& file) {
  const std::lock_guard lock(mutex_);
  file_ = clean_text(file);
}

bool TopScreen::wants_end() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return wants_end_;
}

std::optional<std::string> TopScreen::take_wanted_picture() {
  const std::lock_guard lock(mutex_);
  return std::exchange(wanted_, std::nullopt);
}

void TopScreen::run() {
  try {
    while (true) {
      take_news();
      {
        const std::lock_guard lock(mutex_);
        if (ends_ || wants_end_) return;
      }
      const TopSize size = settle();
      terminal_.draw(draw_top(shown_, state_, size, terminal_.is_utf8()));
      terminal_.wait(wake_.get());
      take_keys();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
  }
}

TopSize TopScreen::settle() {
  const TopSize size = terminal_.size();
  settle_top(state_, shown_, size, terminal_.is_utf8());
  return size;
}

// While the display is paused, only losses are renewed.
void TopScreen::take_news() {
  eventfd_t count = 0;
  ::eventfd_read(wake_.get(), &count);
  std::optional<TopData> next;
  {
    const std::lock_guard lock(mutex_);
    next = std::exchange(next_, std::nullopt);
    if (message_) state_.message = *std::exchange(message_, std::nullopt);
    // A question is about the file that it names.
    if (file_ && state_.prompt == TopPrompt::none)
      state_.file = *std::exchange(file_, std::nullopt);
  }
  if (const std::string said = terminal_.messages(); !said.empty())
    state_.message = last_line(said);
  if (next) held_ = std::move(next);
  if (!held_) return;
  if (state_.is_paused)
    shown_.losses = held_->losses;
  else
    shown_ = *std::exchange(held_, std::nullopt);
}

void TopScreen::take_keys() {
  bool leaves = terminal_.is_gone();
  while (const std::optional<TopPress> key = terminal_.next_key()) {
    const size_t page = top_areas(shown_, state_, settle()).body;
    switch (press(state_, shown_, *key, std::max<size_t>(page, 1))) {
      case TopWish::leave:
        leaves = true;
        break;
      case TopWish::picture:
        want_picture(false);
        break;
      case TopWish::replace:
        want_picture(true);
        break;
      case TopWish::none:
        break;
    }
  }
  const std::lock_guard lock(mutex_);
  wants_end_ = wants_end_ || leaves;
}

void TopScreen::want_picture(bool may_replace) {
  try {
    if (!is_file(state_.file)) throw Error(state_.file + " is not the name of a file");
    if (!may_replace && place_of(state_.file).status()) return ask_to_replace(state_);
    state_.message = "writing " + state_.file + " …";
    const std::lock_guard lock(mutex_);
    wanted_ = state_.file;
  } catch (const Error& error) {
    state_.message = clean_text(error.what());
  }
}

}  // namespace memflame
