// SPDX-License-Identifier: BSD-2-Clause
// The options of the kernel probe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "probes/options/options.h"

namespace memflame {

enum class KernelKind : uint8_t { slab, pages, percpu, vmalloc, all };

class KernelOptions : public ProbeSettings {
 public:
  bool requested = false;  // sizes as asked for, not as given

  KernelKind kind() const { return kind_.value_or(KernelKind::slab); }

  std::vector<OptionRow> rows(ProbeOptions& common) override;
  void settle(ProbeOptions& common) override;

 private:
  std::optional<KernelKind> kind_;
  bool percpu_ = false;
};

}  // namespace memflame
