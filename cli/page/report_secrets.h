// SPDX-License-Identifier: BSD-2-Clause
// What a report does not show to others.
#pragma once

#include "core/report.h"

namespace memflame {

// Hides values that look like secrets, always. `anonymise`: the command line, the host, and the
// folder of the recording, too.
void hide_secrets(Report& report, bool anonymise);

}  // namespace memflame
