// SPDX-License-Identifier: BSD-2-Clause
// A profile on its way to a picture, with what there is to say of it on standard error.
#pragma once

#include "collapse/tidy/tidy.h"
#include "core/profile.h"
#include "render/picture/options.h"
#include "render/transform.h"

namespace memflame {

// tidy(), and one line on standard error about the stacks that options dropped. Throws Error if the
// profile had stacks and none is left.
Profile tidied(Profile profile, const TidyOptions& options);

// Applies the options that change values and stacks, whatever the format. Says on standard error
// what could not be done.
Profile prepared(Profile profile, const Transform& transform, const RenderOptions& render);

// Adds colours of new names to the file that keeps them. Throws Error.
void keep_colours(const Profile& profile, const RenderOptions& render);

}  // namespace memflame
