// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/finding/placement.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/hex.h"
#include "probes/alloc/finding/forwards.h"

namespace memflame {
namespace {

constexpr size_t max_ends = 256;  // exits of one function, with the code that it jumps to
constexpr int max_rounds = 8;     // two are usual

struct Function : BlockFunction {
  enum Fate : uint8_t { probed, forwards, unprobeable, not_wanted };
  Fate fate = probed;
  std::string problem;
  Body body;  // ends where it jumps to another candidate

  explicit Function(const BlockFunction& function) : BlockFunction(function) {}
};

class Placement {
 public:
  Placement(FileCode& code, const BlockFunctions& candidates)
      : code_(code), own_code_(candidates.own_code) {
    probes_.allocators = candidates.allocators;
    for (const BlockFunction& each : candidates.functions) {
      addresses_.push_back(each.address);
      by_address_.emplace(each.address, all_.size());
      all_.emplace_back(each);
    }
    std::sort(addresses_.begin(), addresses_.end());
    for (Function& each : all_) {
      if (each.size == 0) each.size = code_.size_at(each.address);
      each.body = code_.body(each.address, each.size, addresses_);
    }
  }

  // Whether the operator new of a file without malloc calls an allocator of another file.
  bool operators_forward() {
    return std::any_of(all_.begin(), all_.end(), [&](const Function& each) {
      return each.allocates() && may_pass(code_, each.body, [&](const Destination& to) {
               return is_allocator_name(to.name);
             });
    });
  }

  void probe_nothing() {
    for (Function& each : all_) each.fate = Function::not_wanted;
  }

  // Whether a function is probed depends on which others are, hence the rounds.
  void decide() {
    spread_exceptions();
    for (int round = 0; round < max_rounds; ++round) {
      find_forwarders();
      if (!find_unprobeable()) break;
    }
    for (const Function& each : all_) {
      if (each.fate == Function::forwards)
        probes_.notes.push_back(each.name + " only calls another function that is probed");
      if (each.fate == Function::unprobeable)
        probes_.notes.push_back(each.name + " is not probed: " + each.problem);
    }
  }

  void add_marks() {
    for (const Function& each : all_) {
      if (!each.cxx || each.fate == Function::probed) continue;
      bpf::call_shape shape{};
      shape.action = bpf::action_mark;
      shape.family = each.shape.family;
      shape.allocator = each.shape.allocator;
      if (!each.allocates()) shape.block = each.shape.block;
      add_site(each, shape);
    }
  }

  AllocatorProbes take() && {
    add_frees();
    add_ends();
    add_allocations();
    return std::move(probes_);
  }

 private:
  const Function* find(const Destination& to) const {
    if (to.kind != Destination::known) return nullptr;
    const auto found = by_address_.find(to.address);
    return found == by_address_.end() ? nullptr : &all_[found->second];
  }

  // A function may throw if it ends in a jump to one that may.
  void spread_exceptions() {
    for (bool changed = true; changed;) {
      changed = false;
      for (Function& each : all_) {
        if (each.throws || !each.allocates()) continue;
        each.throws =
            std::any_of(each.body.code.begin(), each.body.code.end(), [&](const Instruction& i) {
              const Function* next = i.is_branch() ? find(code_.destination(i)) : nullptr;
              return next != nullptr && next->throws;
            });
        changed |= each.throws;
      }
    }
  }

  // Operators and functions with an alignment often only call another candidate. Then only that
  // one is probed, and a call costs one probe instead of two.
  void find_forwarders() {
    for (Function& each : all_)
      if (each.fate == Function::forwards) each.fate = Function::probed;
    for (Function& each : all_) {
      if (!each.cxx && !each.throws && !each.aligned) continue;
      if (each.shape.count != 0 || (each.allocates() && each.shape.block != 0)) continue;
      const bool skip = always_passes(code_, each.body, [&](const Destination& to) {
        const Function* next = find(to);
        return next != nullptr && next != &each && stands_for(*next, each);
      });
      if (skip) each.fate = Function::forwards;
    }
  }

  static bool stands_for(const Function& inner, const Function& outer) {
    if (inner.fate == Function::unprobeable || inner.allocates() != outer.allocates()) return false;
    if (!inner.allocates()) return inner.shape.block == outer.shape.block;
    return inner.aligned == outer.aligned && inner.shape.block == 0 && inner.shape.count == 0;
  }

  // A function that may throw gets no return probe, so all of its exits must be known. Returns
  // whether another function turned out unprobeable.
  bool find_unprobeable() {
    bool found = false;
    for (Function& each : all_) {
      if (each.fate != Function::probed || !each.allocates() || !each.throws) continue;
      each.problem = end_problem(full_body(each));
      if (each.problem.empty()) continue;
      each.fate = Function::unprobeable;
      found = true;
    }
    return found;
  }

  // All code that a call may end in, except that of other functions that get probes for their ends.
  Body full_body(const Function& of) {
    std::vector<uint64_t> ends;
    for (const Function& each : all_)
      if (each.fate == Function::probed && each.allocates() && &each != &of)
        ends.push_back(each.address);
    std::sort(ends.begin(), ends.end());
    return code_.body(of.address, of.size, ends);
  }

  // Where a call ends: a return, or a jump to an unknown place.
  bool is_end(const Instruction& i) {
    if (i.kind == Instruction::ret) return true;
    if (i.kind != Instruction::jump) return false;
    const Destination to = code_.destination(i);
    return to.kind == Destination::computed || to.kind == Destination::other_file;
  }

  std::string end_problem(const Body& body) {
    if (!body.gap.empty()) return body.gap;
    size_t returns = 0, ends = 0;
    for (const Instruction& i : body.code) {
      const Function* next = i.is_branch() ? find(code_.destination(i)) : nullptr;
      returns += i.kind == Instruction::ret || (next != nullptr && next->allocates());
      if (i.kind == Instruction::conditional && code_.destination(i).kind != Destination::known)
        return "it leaves the file by a conditional jump";
      if (!is_end(i)) continue;
      ++ends;
      if (i.cost == ProbeCost::refused) return "one of its exits cannot be probed";
    }
    if (returns == 0) return "it has no return, only a jump to an unknown place";
    return ends > max_ends ? "it has too many returns" : "";
  }

  void add_site(const Function& each, const bpf::call_shape& shape) {
    unsigned arguments = 0;
    const auto need = [&](uint64_t number) { arguments |= number == 0 ? 0 : 1U << (number - 1); };
    need(shape.size);
    need(shape.count);
    need(shape.block);
    need(shape.out);
    need(shape.pool);
    if (shape.align != bpf::aligned_to_page) need(shape.align);
    const Site site = code_.site(each.address, each.size, static_cast<uint8_t>(arguments));
    const std::string text = each.name + (site.delta == 0 ? "" : "+" + std::to_string(site.delta));
    if (site.cost == ProbeCost::refused) {
      probes_.notes.push_back(
          each.name + " is not probed: the kernel refuses a probe there, or overwrites its data");
      return;
    }
    if (site.cost == ProbeCost::stepped)
      probes_.notes.push_back(text + " is single-stepped: no better instruction is near");
    add(each.address + site.delta, at_site(shape, site), text);
  }

  void add(uint64_t address, const bpf::call_shape& shape, const std::string& text) {
    const uint64_t offset = code_.offset_of(address);
    if (offset != UINT64_MAX)
      probes_.sites.push_back({.offset = offset, .shape = shape, .text = text});
  }

  void add_frees() {
    for (const Function& each : all_) {
      if (each.fate != Function::probed || each.allocates()) continue;
      bpf::call_shape shape = each.shape;
      shape.forwards = may_pass(code_, each.body, [&](const Destination& to) {
        if (to.kind == Destination::other_file) return is_allocator_name(to.name);
        const Function* next = find(to);
        return next != nullptr && next != &each && !next->allocates() &&
               (next->fate == Function::probed || next->fate == Function::forwards);
      });
      const size_t sites = probes_.sites.size();
      add_site(each, shape);
      if (probes_.sites.size() != sites) probes_.sites.back().own_calls = own_calls(each);
    }
  }

  bool is_candidate_code(uint64_t address) const {
    return std::any_of(all_.begin(), all_.end(), [&](const Function& each) {
      return address > each.address && address <= each.address + each.size;
    });
  }

  // Where calls from the allocator's own code return to. If another file can replace the function,
  // only the allocator itself calls it directly and all others go through the linkage table, as in
  // glibc. In a static program all calls are direct, so symbols have to tell who calls.
  std::vector<uint64_t> own_calls(const Function& of) {
    const bool is_linked = code_.is_linked(of.address);
    if (!is_linked && own_code_.empty()) return {};
    std::vector<uint64_t> calls = code_.direct_calls(of.address);
    std::erase_if(calls, [&](uint64_t address) {
      const bool is_own =
          is_linked || std::any_of(own_code_.begin(), own_code_.end(), [&](const CodeRange& code) {
            return address > code.start && address <= code.end;
          });
      return !is_own || is_candidate_code(address) || code_.offset_of(address) == UINT64_MAX;
    });
    for (uint64_t& address : calls) address = code_.offset_of(address);
    return calls;
  }

  void add_ends() {
    std::set<uint64_t> known;
    for (const Function& each : all_) {
      if (each.fate != Function::probed || !each.allocates() || !each.throws) continue;
      for (const Instruction& i : full_body(each).code) {
        if (!is_end(i) || !known.insert(i.address).second) continue;
        bpf::call_shape shape = each.shape;
        shape.action = bpf::action_end;
        shape.own_end = i.kind != Instruction::ret;
        const uint64_t offset = code_.offset_of(i.address);
        add(i.address, shape, each.name + (shape.own_end ? "+exit@" : "+end@") + hex(offset));
      }
    }
  }

  void add_allocations() {
    for (const Function& each : all_) {
      if (each.fate != Function::probed || !each.allocates()) continue;
      bpf::call_shape shape = each.shape;
      shape.own_end = each.throws;
      add_site(each, shape);
    }
  }

  FileCode& code_;
  std::vector<Function> all_;
  std::vector<uint64_t> addresses_;
  std::map<uint64_t, size_t> by_address_;
  std::vector<CodeRange> own_code_;
  AllocatorProbes probes_;
};

}  // namespace

AllocatorProbes place(FileCode& code, const BlockFunctions& candidates,
                      const FindOptions& options) {
  Placement placement(code, candidates);
  if (candidates.operators_only && placement.operators_forward())
    placement.probe_nothing();
  else
    placement.decide();
  if (options.check) placement.add_marks();
  return std::move(placement).take();
}

}  // namespace memflame
