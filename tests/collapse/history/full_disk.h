// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "collapse/history/file.h"
#include "core/error.h"

namespace memflame {

// A full disk: descriptors that cannot be written to while `is_full`.
class FullDisk : public HistoryFile {
 public:
  FullDisk(const std::string& path, const bool& is_full)
      : name_(path), is_full_(is_full), file_(::open(path.c_str(), O_RDWR | O_CREAT, 0600)) {}
  ~FullDisk() override { ::close(file_); }

  const std::string& name() const override { return name_; }
  int create() override {
    own_ = ::dup(file_);
    return own_;
  }
  int create_copy() override { throw Error("No space left on device"); }
  void replace() override {}
  void discard_copy() noexcept override {}
  // Puts another file behind the writer's descriptor.
  void apply() const {
    const int target = is_full_ ? ::open("/dev/full", O_RDWR) : ::dup(file_);
    ::dup2(target, own_);
    ::close(target);
  }

 private:
  std::string name_;
  const bool& is_full_;
  int file_, own_ = -1;
};

}  // namespace memflame
