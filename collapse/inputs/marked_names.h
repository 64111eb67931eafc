// SPDX-License-Identifier: BSD-2-Clause
// Names as formats without kinds of frames carry them: with the marks of folded text behind them,
// and in brackets where nobody knows a name.
#pragma once

#include <string_view>

#include "core/stack.h"

namespace memflame {

// The kind that the brackets around a name stand for: FrameKind::note for what memflame itself says
// ("[lost: …]"), unknown for other brackets ("[libfoo.so+0x12]"), user without any.
FrameKind bracketed_kind(std::string_view name);

// The kind of a name, without its mark.
FrameKind take_mark(std::string_view& name);

}  // namespace memflame
