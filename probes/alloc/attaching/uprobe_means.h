// SPDX-License-Identifier: BSD-2-Clause
// The kernel's interface that a run uses to put probes on functions.
#pragma once

#include "probes/loading/kernel_features.h"

namespace memflame {

struct UprobeMeans {
  bool multi = false;    // uprobe_multi links; else perf events
  bool session = false;  // session links: one probe for entry and return
};

// `own_links`: see ProbeOptions.
inline UprobeMeans uprobe_means(bool own_links, const KernelFeatures& features) {
  UprobeMeans means;
  means.multi = own_links ? features.uprobe_multi_pid : features.uprobe_multi;
  means.session = means.multi && features.uprobe_session;
  return means;
}

}  // namespace memflame
