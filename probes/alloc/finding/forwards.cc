// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/finding/forwards.h"

#include <algorithm>
#include <unordered_map>

namespace memflame {
namespace {

// Walks all paths that avoid accepted calls.
class Walk {
 public:
  Walk(FileCode& file, const Body& body, const Accepts& accepts)
      : file_(file), code_(body.code), accepts_(accepts), seen_(code_.size()) {
    for (size_t i = 0; i < code_.size(); ++i) index_.try_emplace(code_[i].address, i);
  }

  bool ends_otherwise() {
    if (code_.empty()) return true;
    visit(code_.front().address);
    while (!open_.empty() && !ended_) {
      const Instruction& i = code_[open_.back()];
      open_.pop_back();
      step(i);
    }
    return ended_;
  }

 private:
  void visit(uint64_t address) {
    const auto found = index_.find(address);
    if (found == index_.end()) {
      ended_ = true;
    } else if (!seen_[found->second]) {
      seen_[found->second] = true;
      open_.push_back(found->second);
    }
  }

  void step(const Instruction& i) {
    if (i.kind == Instruction::ret) ended_ = true;
    if (i.kind == Instruction::ret || i.kind == Instruction::stops) return;
    const bool branches = i.is_branch();
    if (branches && index_.contains(i.target)) {
      visit(i.target);
    } else if (branches || i.kind == Instruction::call) {
      const Destination to = file_.destination(i);
      const bool accepted = accepts_(to);
      if (branches && !accepted) {
        if (to.kind == Destination::known && index_.contains(to.address))
          visit(to.address);
        else
          ended_ = true;
      }
      if (i.kind == Instruction::call && accepted) return;
    }
    if (i.kind == Instruction::jump) return;
    // A call at the end of a piece does not return.
    if (i.kind != Instruction::call || index_.contains(i.next())) visit(i.next());
  }

  FileCode& file_;
  const std::vector<Instruction>& code_;
  const Accepts& accepts_;
  std::unordered_map<uint64_t, size_t> index_;
  std::vector<bool> seen_;
  std::vector<size_t> open_;
  bool ended_ = false;
};

}  // namespace

bool always_passes(FileCode& file, const Body& body, const Accepts& accepts) {
  return body.gap.empty() && !Walk(file, body, accepts).ends_otherwise();
}

bool may_pass(FileCode& file, const Body& body, const Accepts& accepts) {
  return std::any_of(body.code.begin(), body.code.end(), [&](const Instruction& i) {
    return (i.kind == Instruction::call || i.is_branch()) && accepts(file.destination(i));
  });
}

}  // namespace memflame
