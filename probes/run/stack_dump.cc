// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/stack_dump.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/own_path.h"

namespace memflame {
namespace {

constexpr uint32_t magic = 0x4b53464d;  // "MFSK"

}  // namespace

StackDump::StackDump(const std::string& path) {
  UniqueFd file = create_file(place_of(path), 0600);
  file_.reset(::fdopen(file.get(), "w"));
  if (!file_) throw Error(path + ": cannot be written: " + std::strerror(errno));
  file.release();
}

void StackDump::write(const bpf::copy_record& record, const RawStack& walked) {
  const auto frames = static_cast<uint32_t>(walked.pcs.size() - walked.kernel_pcs);
  const uint32_t bytes = std::min<uint32_t>(record.bytes, bpf::max_copy_bytes);
  std::array<uint32_t, 8> head{
      magic, 0, record.tgid, frames, static_cast<uint32_t>(walked.stop), bytes, record.entry, 0};
  head[1] =
      static_cast<uint32_t>(sizeof(head) + sizeof(record.regs) + frames * sizeof(uint64_t)) + bytes;
  std::fwrite(head.data(), sizeof(head), 1, file_.get());
  std::fwrite(record.regs, sizeof(record.regs), 1, file_.get());
  for (size_t i = walked.kernel_pcs; i < walked.pcs.size(); ++i)
    std::fwrite(&walked.pcs[i].addr, sizeof(uint64_t), 1, file_.get());
  std::fwrite(record.stack, 1, bytes, file_.get());
}

}  // namespace memflame
