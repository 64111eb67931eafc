// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/spool_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <map>
#include <set>
#include <thread>

#include "core/error.h"
#include "fleet/folders.h"

namespace memflame {
namespace {

constexpr std::string_view spool_magic = "memflame-window-1 ";
constexpr std::string_view spool_suffix = ".window";
constexpr size_t time_digits = 19, id_digits = 32;
constexpr std::chrono::seconds longest_wait{10};
// When the spool is full, this share of it is freed at once: looking for the oldest takes a while.
constexpr uint64_t freed_share = 32;

uint64_t crc_of(std::string_view bytes) {
  return ::crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

uint64_t number_in(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size())
    throw Error("its first line is damaged");
  return number;
}

bool is_of(std::string_view text, std::string_view letters) {
  return text.find_first_not_of(letters) == std::string_view::npos;
}

}  // namespace

std::string spool_bytes(const Window& window) {
  const std::string bytes = to_bytes(window);
  return std::string(spool_magic) + std::to_string(bytes.size()) + " " +
         std::to_string(crc_of(bytes)) + "\n" + bytes;
}

Window window_from_spool(std::string_view bytes) {
  const size_t end = bytes.find('\n');
  if (!bytes.starts_with(spool_magic) || end == std::string_view::npos)
    throw Error("it does not begin as windows do");
  const std::string_view line = bytes.substr(spool_magic.size(), end - spool_magic.size());
  const size_t blank = std::min(line.find(' '), line.size());
  const std::string_view rest = bytes.substr(end + 1);
  if (number_in(line.substr(0, blank)) != rest.size()) throw Error("it is cut");
  if (number_in(line.substr(std::min(blank + 1, line.size()))) != crc_of(rest))
    throw Error("its checksum is wrong");
  return window_from_bytes(rest);
}

std::string spool_name(const WindowHead& head) {
  const std::string time = std::to_string(std::max<int64_t>(head.ended_ns, 0));
  return std::string(time_digits - std::min(time.size(), time_digits), '0') + time + "-" + head.id +
         std::string(spool_suffix);
}

bool is_spool_name(std::string_view name) {
  return name.size() == time_digits + 1 + id_digits + spool_suffix.size() &&
         is_of(name.substr(0, time_digits), "0123456789") && name[time_digits] == '-' &&
         is_of(id_of(name), "0123456789abcdef") && name.ends_with(spool_suffix);
}

int64_t ended_ns_of(std::string_view spool_name) {
  int64_t ended = 0;  // 19 digits may be too large; then it stays 0
  std::from_chars(spool_name.data(), spool_name.data() + time_digits, ended);
  return ended;
}

std::string_view id_of(std::string_view spool_name) {
  return spool_name.substr(time_digits + 1, id_digits);
}

uint64_t disk_bytes(uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; }

LockedSpool::LockedSpool(int folder, const std::string& path) {
  // Opened each time: threads, and processes that were forked, would share the lock of one opening.
  const int file =
      ::openat(folder, "counts", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  if (file < 0) throw Error("cannot open " + path + "/counts: " + std::strerror(errno));
  file_ = SharedFd(file);
  const auto until = std::chrono::steady_clock::now() + longest_wait;
  while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      throw Error("cannot lock " + path + "/counts: " + std::strerror(errno));
    if (std::chrono::steady_clock::now() > until)
      throw Error(path + " is locked by another process that does not go on");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  counts = read_counts(file);
  outputs_ = open_folder(folder, "outputs");
}

SharedFd LockedSpool::folder_of(const std::string& output) {
  return open_folder(outputs_.get(), output);
}

std::vector<std::string> LockedSpool::outputs() const {
  std::vector<std::string> outputs;
  for (std::string& name : names_in(outputs_.get()))
    if (is_output_name(name) && outputs.size() < most_outputs) outputs.push_back(std::move(name));
  return outputs;
}

bool LockedSpool::remove(const std::string& output, const std::string& name) {
  const std::string path = output + "/" + name;
  struct stat status {};
  if (::fstatat(outputs_.get(), path.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      ::unlinkat(outputs_.get(), path.c_str(), 0) != 0)
    return false;
  OutputCounts& output_counts = of(output);
  output_counts.waiting -= std::min<uint64_t>(output_counts.waiting, 1);
  if (status.st_nlink > 1) return true;
  const uint64_t bytes = disk_bytes(static_cast<uint64_t>(status.st_size));
  counts.waiting -= std::min<uint64_t>(counts.waiting, 1);
  counts.waiting_bytes -= std::min(counts.waiting_bytes, bytes);
  return true;
}

bool LockedSpool::make_room(uint64_t bytes, uint64_t most_bytes) {
  if (bytes > most_bytes) return false;
  if (counts.waiting_bytes <= most_bytes - bytes) return true;
  const uint64_t kept = std::min(most_bytes - bytes, most_bytes - most_bytes / freed_share);
  std::multimap<std::string, std::string> oldest;  // name of a window -> its outputs
  for (const std::string& output : outputs())
    for (std::string& name : names_in(folder_of(output).get()))
      if (is_spool_name(name)) oldest.emplace(std::move(name), output);
  for (auto at = oldest.begin(); at != oldest.end() && counts.waiting_bytes > kept;) {
    const auto next = oldest.upper_bound(at->first);
    for (; at != next; ++at)
      if (remove(at->second, at->first)) ++of(at->second).dropped;
    ++counts.dropped_full;
  }
  return true;
}

void LockedSpool::recount() {
  std::map<std::pair<dev_t, ino_t>, uint64_t> files;
  std::set<std::string> known;
  for (const auto& [output, unused] : counts.outputs) known.insert(output);
  for (const std::string& output : outputs()) known.insert(output);
  for (const std::string& output : known) {
    const SharedFd folder = folder_of(output);
    uint64_t waiting = 0;
    for (const std::string& name : names_in(folder.get())) {
      struct stat status {};
      if (!is_spool_name(name) ||
          ::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
        continue;
      ++waiting;
      files[{status.st_dev, status.st_ino}] = disk_bytes(static_cast<uint64_t>(status.st_size));
    }
    OutputCounts& of_output = of(output);
    // A process was killed between a change of the folder and its count.
    if (waiting > of_output.waiting) of_output.taken += waiting - of_output.waiting;
    if (waiting < of_output.waiting) of_output.vanished += of_output.waiting - waiting;
    of_output.waiting = waiting;
  }
  if (files.size() > counts.waiting) counts.taken += files.size() - counts.waiting;
  counts.waiting = files.size();
  counts.waiting_bytes = 0;
  for (const auto& [file, bytes] : files) counts.waiting_bytes += bytes;
}

}  // namespace memflame
