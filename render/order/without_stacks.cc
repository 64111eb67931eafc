// SPDX-License-Identifier: BSD-2-Clause
#include "render/order/without_stacks.h"

namespace memflame {

Profile without_stacks(const Profile& from) {
  Profile out;
  out.strings = from.strings;
  out.frames = from.frames;
  out.code = from.code;
  out.meta = from.meta;
  out.losses = from.losses;
  out.types = from.types;
  out.shown = from.shown;
  out.findings = from.findings;
  if (from.in_order()) out.keep_order();
  return out;
}

}  // namespace memflame
