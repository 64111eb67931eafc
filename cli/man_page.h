// SPDX-License-Identifier: BSD-2-Clause
// A command's page for man(1).
#pragma once

#include <ostream>
#include <vector>

#include "cli/command_page.h"

namespace memflame {

// In the macros of man(7). `all` are the pages that SEE ALSO refers to.
void write_man_page(std::ostream& out, const CommandPage& page,
                    const std::vector<CommandPage>& all);

}  // namespace memflame
