// SPDX-License-Identifier: BSD-2-Clause
// By which of the kernel's means probes are put on functions in one run.
#pragma once

#include "probes/loading/kernel_features.h"

namespace memflame {

struct UprobeMeans {
  bool multi = false;    // uprobe_multi links; else perf events
  bool session = false;  // entry and return in one
};

// `own_links`: see AllocOptions.
inline UprobeMeans uprobe_means(bool own_links, const KernelFeatures& features) {
  UprobeMeans means;
  means.multi = own_links ? features.uprobe_multi_pid : features.uprobe_multi;
  means.session = means.multi && features.uprobe_session;
  return means;
}

}  // namespace memflame
