// SPDX-License-Identifier: BSD-2-Clause
// Watched processes that were killed, which may explain how a run ended.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probes/bpf/shared.h"

namespace memflame {

class Deaths {
 public:
  void take(const bpf::space_record& record);

  // A line for each of the first few, and one for the others.
  std::vector<std::string> notes() const;

 private:
  struct Death {
    uint32_t pid = 0;
    int signal = 0;
    bool out_of_memory = false;
    std::string name;
  };
  std::vector<Death> first_;
  uint64_t others_ = 0;
};

}  // namespace memflame
