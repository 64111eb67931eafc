#include "collapse/inputs/lines.h"

#include <algorithm>

namespace memflame {

bool Lines::fill() {
  if (!unread_.empty()) return true;
  in_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  unread_ = {buffer_.data(), static_cast<size_t>(in_.gcount())};
  return !unread_.empty();
}

void Lines::append(std::string_view part) {
  const size_t room = max_length - line_.size();
  cut_ = cut_ || part.size() > room;
  line_ += part.substr(0, std::min(room, part.size()));
}

bool Lines::next() {
  line_.clear();
  cut_ = false;
  if (!fill()) return false;
  ++number_;
  while (fill()) {
    const size_t end = unread_.find('\n');
    append(unread_.substr(0, end));
    if (end != std::string_view::npos) {
      unread_.remove_prefix(end + 1);
      break;
    }
    unread_ = {};
  }
  if (!line_.empty() && line_.back() == '\r') line_.pop_back();
  return true;
}

}  // namespace memflame
