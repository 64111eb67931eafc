// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/rule_board.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "core/error.h"

namespace memflame {

RuleBoard::RuleBoard() {
  void* const memory =
      ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error("there is no memory to share between processes");
  page_ = new (memory) Page{};
}

RuleBoard::~RuleBoard() { ::munmap(page_, sizeof(Page)); }

void RuleBoard::show(const std::map<std::string, RuleState>& rules, double budget_share) {
  page_->budget_share.store(budget_share, std::memory_order_relaxed);
  page_->version.fetch_add(1);
  std::atomic_thread_fence(std::memory_order_release);
  page_->rows = 0;
  for (const auto& [name, state] : rules) {
    if (page_->rows == room) break;
    Row& row = page_->row[page_->rows++];
    row.name.fill('\0');
    std::memcpy(row.name.data(), name.data(), std::min(name.size(), name_bytes - 1));
    row.state = state;
  }
  page_->version.fetch_add(1);
}

// Until what was read was not being written. A writer that was killed in the middle leaves nothing.
std::map<std::string, RuleState> RuleBoard::read() const {
  constexpr int tries = 1000;
  for (int i = 0; i < tries; ++i) {
    const uint64_t before = page_->version.load();
    std::map<std::string, RuleState> rules;
    for (size_t row = 0; row < std::min(page_->rows, room); ++row) {
      Row copy = page_->row[row];
      copy.name.back() = '\0';
      rules.emplace(copy.name.data(), copy.state);
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && page_->version.load() == before) return rules;
  }
  return {};
}

}  // namespace memflame
