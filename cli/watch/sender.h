// SPDX-License-Identifier: BSD-2-Clause
// The process that sends windows. It reads what stores answer and serves metrics, so it has no
// rights.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "fleet/rule_board.h"
#include "fleet/settings.h"
#include "fleet/spool.h"

namespace memflame {

// Until SIGTERM; then it tries for some seconds to send what waits. Call it in a process that has
// one thread. Returns the exit code.
int send_windows(const std::shared_ptr<Spool>& spool, const std::map<std::string, Setting>& outputs,
                 const std::shared_ptr<const RuleBoard>& board);

}  // namespace memflame
