// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "core/caller.h"
#include "core/error.h"
#include "core/own_path.h"

namespace memflame {

SharedFd open_path(const std::string& path, mode_t mode) {
  const std::filesystem::path whole = std::filesystem::path(path + "/").parent_path();
  const std::string above = whole.parent_path().string();
  const UniqueFd parent = open_folder(above.empty() ? "." : above, false);
  if (::mkdirat(parent.get(), whole.filename().c_str(), mode) != 0 && errno != EEXIST)
    throw Error("cannot make the folder " + path + ": " + std::strerror(errno));
  return SharedFd(open_folder(path, false).release());
}

SharedFd open_folder(int parent, const std::string& name, mode_t mode) {
  if (::mkdirat(parent, name.c_str(), mode) != 0 && errno != EEXIST)
    throw Error("cannot make the folder " + name + ": " + std::strerror(errno));
  const int folder =
      ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0 && (errno == ENOTDIR || errno == ELOOP))
    throw NotAFolder(name + " is a file or a link, where a folder must be");
  if (folder < 0) throw Error("cannot open the folder " + name + ": " + std::strerror(errno));
  SharedFd opened(folder);
  struct stat status {
  }, above{};
  if (::fstat(folder, &status) != 0 || ::fstat(parent, &above) != 0)
    throw Error(name + ": " + std::strerror(errno));
  // Some file systems know one user only, so all folders are that user's.
  if (!is_trusted(status.st_uid) && status.st_uid != above.st_uid)
    throw NotAFolder(name + " is a folder of " + name_of_user(status.st_uid) +
                     ", where a folder of memflame's must be: remove it");
  return opened;
}

std::vector<std::string> names_in(int folder) {
  // A descriptor of its own: copies of one share their place in the folder.
  const int again = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const opened = again < 0 ? nullptr : ::fdopendir(again);
  if (opened == nullptr) {
    const int error = errno;
    if (again >= 0) ::close(again);
    throw Error(std::string("cannot read a folder: ") + std::strerror(error));
  }
  const auto close = [](DIR* stream) { ::closedir(stream); };
  const std::unique_ptr<DIR, decltype(close)> stream(opened, close);
  std::vector<std::string> names;
  while (const dirent* const entry = ::readdir(stream.get()))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  return names;
}

int write_new_file(int folder, const std::string& name, std::string_view bytes, mode_t mode) {
  const int opened =
      ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (opened < 0) return errno;
  const SharedFd file(opened);
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t wrote = ::write(opened, bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return wrote < 0 ? errno : EIO;
    done += static_cast<size_t>(wrote);
  }
  return 0;
}

int sync_file(int folder, const std::string& name) {
  const int opened = ::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (opened < 0) return errno;
  const SharedFd file(opened);
  return ::fsync(opened) == 0 ? 0 : errno;
}

}  // namespace memflame
