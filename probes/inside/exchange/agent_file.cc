// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/exchange/agent_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/error.h"
#include "core/own_agent.h"
#include "core/unique_fd.h"
#include "probes/options/advice.h"

namespace memflame::inside {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw Error("--inside needs a file for programs to load, " + path + ": " + why +
              (::geteuid() == 0 ? "; " : " (XDG_CACHE_HOME names another folder); ") +
              as_root("--collect kernel needs no agent"));
}

// Makes the folder and those above it, as far as they are missing.
void make_folders(const std::string& folder) {
  for (size_t end = folder.find('/', 1);; end = folder.find('/', end + 1)) {
    const std::string part = folder.substr(0, end);
    if (::mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) fail(part, std::strerror(errno));
    if (end == std::string::npos) return;
  }
}

UniqueFd trusted_folder(const std::string& folder) {
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) fail(folder, std::strerror(errno));
  if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    fail(folder, "another user can write there");
  struct statvfs system {};
  if (::fstatvfs(fd.get(), &system) != 0) fail(folder, std::strerror(errno));
  if ((system.f_flag & ST_NOEXEC) != 0) fail(folder, "its file system is mounted noexec");
  return fd;
}

bool holds(int fd, std::span<const std::byte> image) {
  std::array<std::byte, 65536> part{};
  size_t at = 0;
  for (;;) {
    const ssize_t got = ::pread(fd, part.data(), part.size(), static_cast<off_t>(at));
    if (got < 0) return false;
    if (got == 0) return at == image.size();
    const auto size = static_cast<size_t>(got);
    if (size > image.size() - at || std::memcmp(part.data(), image.data() + at, size) != 0)
      return false;
    at += size;
  }
}

// Nobody but this user can have written it, everybody can read it, and it is the image.
bool is_good(int folder, const std::string& name, std::span<const std::byte> image) {
  const UniqueFd file(::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  return file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_uid == ::geteuid() && (status.st_mode & 07777) == 0644 &&
         holds(file.get(), image);
}

bool write_all(int fd, std::span<const std::byte> image) {
  while (!image.empty()) {
    const ssize_t wrote = ::write(fd, image.data(), image.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    image = image.subspan(static_cast<size_t>(wrote));
  }
  return true;
}

void write_file(int folder, const std::string& name, std::span<const std::byte> image,
                const std::string& path) {
  const std::string draft = "." + name + "." + std::to_string(::getpid());
  ::unlinkat(folder, draft.c_str(), 0);
  const UniqueFd file(
      ::openat(folder, draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) fail(path, std::strerror(errno));
  if (write_all(file.get(), image) && ::fchmod(file.get(), 0644) == 0 &&
      ::renameat(folder, draft.c_str(), folder, name.c_str()) == 0)
    return;
  const std::string why = std::strerror(errno);
  ::unlinkat(folder, draft.c_str(), 0);
  fail(path, why);
}

}  // namespace

// Tells versions apart; whether a file is the image is found by comparing all bytes.
std::string agent_name(std::span<const std::byte> image) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : image) hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3;
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "%016llx", static_cast<unsigned long long>(hash));
  return std::string(agent_file_begins) + name.data() + std::string(agent_file_ends);
}

std::string agent_file_in(const std::string& folder, std::span<const std::byte> image) {
  make_folders(folder);
  const UniqueFd fd = trusted_folder(folder);
  const std::string name = agent_name(image);
  std::string path = folder + "/" + name;
  // LD_PRELOAD is a list, and its loader replaces $ORIGIN and the like.
  if (path.find_first_of(" :$") != std::string::npos)
    fail(path, "LD_PRELOAD cannot name such a path");
  if (!is_good(fd.get(), name, image)) write_file(fd.get(), name, image, path);
  if (!is_good(fd.get(), name, image)) fail(path, "somebody else writes it, too");
  return path;
}

std::string agent_file_in_first(std::span<const std::string> folders,
                                std::span<const std::byte> image) {
  try {
    return agent_file_in(folders.front(), image);
  } catch (const Error&) {
    for (const std::string& other : folders.subspan(1)) try {
        return agent_file_in(other, image);
      } catch (const Error&) {  // what is said is about the first
      }
    throw;
  }
}

std::string agent_file(std::span<const std::byte> image) {
  const uid_t user = ::geteuid();
  if (user == 0) return agent_file_in("/var/cache/memflame", image);
  const auto variable = [](const char* name) {
    const char* value = ::secure_getenv(name);
    return std::string(value != nullptr && value[0] == '/' ? value : "");
  };
  // A command run as another user may still have that user's HOME, and some users have none.
  std::vector<std::string> folders;
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty())
    folders.push_back(cache + "/memflame");
  else if (const std::string home = variable("HOME"); !home.empty())
    folders.push_back(home + "/.cache/memflame");
  folders.push_back("/tmp/memflame-" + std::to_string(user));
  return agent_file_in_first(folders, image);
}

std::string preload_variable(const std::string& file) {
  const char* present = ::getenv("LD_PRELOAD");
  std::string value = "LD_PRELOAD=" + file;
  if (present != nullptr && present[0] != 0) value += ":" + std::string(present);
  return value;
}

}  // namespace memflame::inside
