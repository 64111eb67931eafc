// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/stack_intake.h"

#include <sys/uio.h>

#include <algorithm>
#include <cstring>

namespace memflame {

StackIntake::StackIntake(const ProbeOptions& options) : unwinder(options) {
  if (!options.check_file.empty()) dump_.emplace(options.check_file);
}

void StackIntake::announced(Spaces& spaces, const bpf::stack_record& record, size_t size) {
  const RawStack* stack = log.announced(record, size, spaces.scripts());
  if (stack == nullptr || !stack->space) return;  // a stack of the kernel alone
  spaces.expect(stack->space, static_cast<pid_t>(record.tgid), record.comm, record.time);
  const auto user = std::span(stack->pcs).subspan(stack->kernel_pcs);
  spaces.learn(stack->space, user);
  if (stack->stop == StopReason::no_table && !user.empty())
    unwinder.demand(spaces, stack->space, user.back().addr - (user.back().is_return ? 1 : 0),
                    record.time);
}

void StackIntake::script(Spaces& spaces, const bpf::script_code_record& record, size_t size) {
  constexpr size_t head = offsetof(bpf::script_code_record, lines);
  bpf::v8_call call{};
  if (record.language != bpf::language_javascript || size < head + sizeof(call) ||
      record.name.form != bpf::v8_call_text)
    return spaces.scripts().take(record, size);
  std::memcpy(&call, record.lines, sizeof(call));
  const Mapping* const mapping = spaces.find(SpaceId{record.space}, call.site.pc);
  const bool is_file =
      mapping != nullptr && spaces.module(mapping->module).kind == ModuleKind::file;
  const auto read = [pid = static_cast<pid_t>(call.tgid)](uint64_t address, void* to,
                                                          size_t bytes) {
    const iovec here{.iov_base = to, .iov_len = bytes};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of that process
    const iovec there{.iov_base = reinterpret_cast<void*>(address), .iov_len = bytes};
    return ::process_vm_readv(pid, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
  };
  spaces.scripts().take_v8_call(record, size, is_file, read);
}

void StackIntake::chained(std::span<const std::byte> data) {
  constexpr size_t head = offsetof(bpf::script_chain, items);
  auto chain = std::make_unique<bpf::script_chain>();
  if (data.size() < head) return;
  std::memcpy(chain.get(), data.data(), std::min(data.size(), offsetof(bpf::script_chain, next)));
  if (chain->count > bpf::max_script_items || data.size() < head + chain->count * sizeof(uint64_t))
    return;
  // One whose copy found no room in the ring waits in vain. Far fewer copies are made at once.
  constexpr size_t most_waiting = 256;
  if (chains_.size() == most_waiting) chains_.pop_front();
  chains_.push_back(std::move(chain));
}

void StackIntake::copied(Spaces& spaces, std::span<const std::byte> data) {
  constexpr size_t head = offsetof(bpf::copy_record, stack);
  if (data.size() < head || data.size() > sizeof(bpf::copy_record)) return;
  // The buffer is reused without clearing, because nothing reads beyond record.bytes.
  if (!copy_) copy_ = std::make_unique<bpf::copy_record>();
  std::memcpy(copy_.get(), data.data(), data.size());
  bpf::copy_record& record = *copy_;
  record.bytes = std::min(record.bytes, static_cast<uint32_t>(data.size() - head));
  if (record.checks == 0) {
    spaces.expect(SpaceId{record.space}, static_cast<pid_t>(record.tgid), record.comm, record.time);
    const auto chain =
        std::ranges::find(chains_, record.key, [](const auto& waiting) { return waiting->key; });
    const bpf::script_chain* const scripts = chain == chains_.end() ? nullptr : chain->get();
    RawStack stack = unwinder.walk(spaces, record, scripts);
    log.copied(record.key, std::move(stack),
               unwinder.later_code(spaces, SpaceId{record.space}, record.time));
    if (scripts != nullptr) chains_.erase(chain);
  } else if (const RawStack* walked = log.find(record.key); walked != nullptr && dump_) {
    dump_->write(record, *walked);
  }
}

}  // namespace memflame
