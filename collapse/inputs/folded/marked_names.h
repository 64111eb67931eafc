// SPDX-License-Identifier: BSD-2-Clause
// Names in formats that have no kinds of frames: followed by the marks of folded text, and in
// brackets if the name is unknown.
#pragma once

#include <string_view>

#include "core/stack.h"

namespace memflame {

// The kind that the brackets around a name stand for: FrameKind::note for memflame's own notes
// ("[lost: …]"), unknown for other brackets ("[libfoo.so+0x12]"), user without any.
FrameKind bracketed_kind(std::string_view name);

// The kind of a name, without its mark.
FrameKind take_mark(std::string_view& name);

}  // namespace memflame
