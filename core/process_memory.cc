// SPDX-License-Identifier: BSD-2-Clause
#include "core/process_memory.h"

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace memflame {
namespace {

// "VmData:     123 kB" -> bytes
uint64_t status_bytes(pid_t pid, std::string_view key) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  uint64_t kib = 0;
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) std::istringstream(line.substr(key.size())) >> kib;
  return kib * 1024;
}

}  // namespace

uint64_t private_bytes_of(pid_t pid) { return status_bytes(pid, "RssAnon:"); }

uint64_t data_bytes_of(pid_t pid) { return status_bytes(pid, "VmData:"); }

}  // namespace memflame
