// SPDX-License-Identifier: BSD-2-Clause
// Debug information that is packed with zstd (gcc -gz=zstd). libelf unpacks it from 0.189 on, if it
// was built so, and must do it itself then: it keeps what it has read. Debian 12 has 0.188.
#pragma once

#include <gelf.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace memflame {

// Must outlive the files whose sections it has unpacked.
class ZstdSections {
 public:
  // Makes the debug sections of an open file what they were before they were packed, for whoever
  // reads them by this handle. Its memory must be writable, as libdwfl's is.
  void unpack(Elf* elf);
  // Some are damaged or too large, so debug information is missing.
  bool failed() const { return failed_; }

 private:
  bool unpack(Elf_Scn* section, size_t head);

  std::vector<std::unique_ptr<std::byte[]>> held_;
  std::vector<Elf*> met_;  // a file, and perhaps its debug file
  bool failed_ = false;
};

}  // namespace memflame
