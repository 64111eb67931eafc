// SPDX-License-Identifier: BSD-2-Clause
#include "core/recording.h"

#include <unistd.h>

namespace memflame {

SharedFd::SharedFd(int fd) {
  if (fd >= 0)
    fd_ = std::shared_ptr<const int>(new int(fd), [](const int* open) {
      ::close(*open);
      delete open;
    });
}

}  // namespace memflame
