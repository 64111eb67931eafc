// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "fleet/folders.h"
#include "fleet/spool.h"
#include "fleet/spool_folder.h"

namespace memflame {
namespace {

constexpr uint64_t most_batch_bytes = uint64_t{64} << 20U;

SharedFd folder_of_output(int spool, const std::string& output) {
  return open_folder(open_folder(spool, "outputs").get(), output);
}

// The file is not a window, and never will be. Other errors may pass.
struct Damaged : Error {
  using Error::Error;
};

// The bytes of a file; none if there is no such file any more.
std::optional<std::string> read_file(int folder, const std::string& name) {
  const int opened = ::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (opened < 0 && errno == ENOENT) return std::nullopt;
  if (opened < 0 && (errno == ELOOP || errno == ENXIO)) throw Damaged("it is not a file");
  if (opened < 0) throw Error("cannot read " + name + " in the spool: " + std::strerror(errno));
  const SharedFd file(opened);
  struct stat status {};
  if (::fstat(opened, &status) != 0) throw Error(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) throw Damaged("it is not a file");
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size > most_window_bytes) throw Damaged("it is too large");
  std::string bytes(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(opened, bytes.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error("cannot read " + name + " in the spool: " + std::strerror(errno));
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

Window window_of(const std::string& name, const std::string& bytes) try {
  Window window = window_from_spool(bytes);
  if (window.head.id != id_of(name)) throw Error("it is not the window of its name");
  return window;
} catch (const Error& error) {
  throw Damaged(error.what());
}

}  // namespace

SpoolReader::SpoolReader(std::shared_ptr<Spool> spool, const std::string& output)
    : spool_(std::move(spool)), output_(output) {
  if (!is_output_name(output)) throw Error("'" + output + "' is not the name of an output");
}

void SpoolReader::list() {
  const SharedFd folder = folder_of_output(spool_->folder_.get(), output_);
  std::vector<std::string> names = names_in(folder.get());
  std::erase_if(names, [](const std::string& name) { return !is_spool_name(name); });
  std::sort(names.begin(), names.end());
  names_.assign(names.begin(), names.end());
}

std::optional<WaitingWindow> SpoolReader::read(const std::string& name) try {
  const std::optional<std::string> bytes =
      read_file(folder_of_output(spool_->folder_.get(), output_).get(), name);
  if (!bytes) return std::nullopt;
  return WaitingWindow{.name = name, .bytes = bytes->size(), .window = window_of(name, *bytes)};
} catch (const Damaged& error) {
  throw_away(name, error.what());
  return std::nullopt;
}

void SpoolReader::throw_away(const std::string& name, const std::string& why) {
  problem_ = name + ": " + why;
  LockedSpool locked(spool_->folder_.get(), spool_->path_);
  if (locked.remove(output_, name)) {
    ++locked.of(output_).damaged;
    locked.save();
    return;
  }
  // A folder, say. It must not be found here again and again.
  const SharedFd folder = folder_of_output(spool_->folder_.get(), output_);
  const SharedFd aside = open_folder(spool_->folder_.get(), "new");
  ::renameat(folder.get(), name.c_str(), aside.get(), name.c_str());
}

std::vector<WaitingWindow> SpoolReader::next(size_t most) {
  if (names_.empty()) list();
  std::vector<WaitingWindow> windows;
  uint64_t bytes = 0;
  while (windows.size() < std::min(std::max<size_t>(most, 1), names_.size())) {
    const auto at = names_.begin() + static_cast<std::ptrdiff_t>(windows.size());
    std::optional<WaitingWindow> waiting = read(*at);
    if (!waiting) {
      names_.erase(at);
      continue;
    }
    bytes += waiting->bytes;
    if (!windows.empty() && bytes > most_batch_bytes) break;
    windows.push_back(std::move(*waiting));
  }
  return windows;
}

void SpoolReader::done(std::span<const WaitingWindow> windows, Fate fate) {
  LockedSpool locked(spool_->folder_.get(), spool_->path_);
  OutputCounts& counts = locked.of(output_);
  for (const WaitingWindow& waiting : windows) {
    std::erase(names_, waiting.name);
    // If it was dropped meanwhile, it was counted as that.
    if (!locked.remove(output_, waiting.name)) continue;
    if (fate == Fate::refused) {
      ++counts.refused;
      continue;
    }
    ++counts.sent;
    counts.sent_bytes += waiting.bytes;
  }
  locked.save();
}

std::optional<int64_t> SpoolReader::oldest_ns() {
  if (names_.empty()) list();
  if (names_.empty()) return std::nullopt;
  return ended_ns_of(names_.front());
}

std::string SpoolReader::take_problem() { return std::exchange(problem_, ""); }

}  // namespace memflame
