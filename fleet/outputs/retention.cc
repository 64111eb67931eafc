// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/outputs/retention.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <set>
#include <string_view>
#include <vector>

#include "fleet/folders.h"

namespace memflame {
namespace {

constexpr time_t between_looks = 600, between_counts = 3600;  // seconds
// What is removed at once when there is too much, so that it is not looked for at each window.
constexpr uint64_t removed_share = 64;

// '0' in the pattern stands for a digit, 'x' for a hex digit, others for themselves.
bool fits(std::string_view text, std::string_view pattern) {
  if (text.size() != pattern.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    const bool is_hex = is_digit || (text[i] >= 'a' && text[i] <= 'f');
    if (pattern[i] == '0' ? !is_digit : pattern[i] == 'x' ? !is_hex : text[i] != pattern[i])
      return false;
  }
  return true;
}

bool is_day(std::string_view name) { return fits(name, "0000-00-00"); }

bool is_own_file(std::string_view name) {
  constexpr std::string_view stem = "00000000T000000Z-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
  return fits(name.substr(0, stem.size()), stem) &&
         (name.substr(stem.size()) == ".pb.gz" || name.substr(stem.size()) == ".json");
}

std::string formatted(time_t time, const char* format) {
  tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 64> text{};
  return std::string(text.data(), ::strftime(text.data(), text.size(), format, &parts));
}

// An existing folder, no link; -1 as the descriptor if it is not one.
SharedFd existing_folder(int parent, const std::string& name) {
  const int folder =
      ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  return folder < 0 ? SharedFd() : SharedFd(folder);
}

std::optional<uint64_t> size_of(int folder, const std::string& name) {
  struct stat status {};
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return static_cast<uint64_t>(status.st_size);
}

// Calls `visit` with the folders SERVICE and SERVICE/DAY.
void each_day(int root, const std::function<void(const std::string& service, int service_folder,
                                                 const std::string& day)>& visit) {
  for (const std::string& service : names_in(root)) {
    const SharedFd folder = existing_folder(root, service);
    if (folder.get() < 0) continue;
    for (const std::string& day : names_in(folder.get()))
      if (is_day(day)) visit(service, folder.get(), day);
  }
}

uint64_t bytes_of_all(int root) {
  uint64_t bytes = 0;
  each_day(root, [&](const std::string&, int service_folder, const std::string& day) {
    const SharedFd folder = existing_folder(service_folder, day);
    if (folder.get() < 0) return;
    for (const std::string& name : names_in(folder.get()))
      if (is_own_file(name)) bytes += size_of(folder.get(), name).value_or(0);
  });
  return bytes;
}

}  // namespace

std::string day_text(time_t time) { return formatted(time, "%Y-%m-%d"); }
std::string instant_text(time_t time) { return formatted(time, "%Y%m%dT%H%M%SZ"); }

void Retention::remove_from_day(int root, const std::string& day, const std::string& oldest,
                                uint64_t target) {
  struct Kept {
    std::string name, service;
    bool operator<(const Kept& other) const { return name < other.name; }
  };
  std::vector<Kept> files;
  each_day(root, [&](const std::string& service, int service_folder, const std::string& at) {
    if (at != day) return;
    const SharedFd folder = existing_folder(service_folder, day);
    if (folder.get() < 0) return;
    for (std::string& name : names_in(folder.get()))
      if (is_own_file(name)) files.push_back({std::move(name), service});
  });
  std::sort(files.begin(), files.end());
  std::set<std::string> touched;
  for (const Kept& file : files) {
    if (file.name >= oldest && *bytes_ <= target) break;
    const SharedFd service = existing_folder(root, file.service);
    const SharedFd folder = service.get() < 0 ? SharedFd() : existing_folder(service.get(), day);
    if (folder.get() < 0) continue;
    const std::optional<uint64_t> bytes = size_of(folder.get(), file.name);
    if (!bytes || ::unlinkat(folder.get(), file.name.c_str(), 0) != 0) continue;
    *bytes_ -= std::min(*bytes_, *bytes);
    touched.insert(file.service);
  }
  // Only if nothing is in them any more.
  for (const std::string& service : touched) {
    const SharedFd folder = existing_folder(root, service);
    if (folder.get() >= 0) ::unlinkat(folder.get(), day.c_str(), AT_REMOVEDIR);
    ::unlinkat(root, service.c_str(), AT_REMOVEDIR);
  }
}

void Retention::tidy(int root, time_t now) {
  // Others may have removed files, or written here.
  if (!bytes_ || now >= next_count_) {
    bytes_ = bytes_of_all(root);
    next_count_ = now + between_counts;
  }
  const bool is_too_much = *bytes_ > most_bytes_;
  if (!is_too_much && now < next_look_) return;
  next_look_ = now + between_looks;
  const uint64_t target = is_too_much ? most_bytes_ - most_bytes_ / removed_share : most_bytes_;
  const auto since = static_cast<time_t>(static_cast<double>(now) - keep_seconds_);
  const std::string oldest_day = day_text(since), oldest = instant_text(since);
  std::set<std::string> days;
  each_day(root, [&](const std::string&, int, const std::string& day) { days.insert(day); });
  for (const std::string& day : days) {
    if (day > oldest_day && *bytes_ <= target) break;
    remove_from_day(root, day, oldest, target);
  }
}

}  // namespace memflame
