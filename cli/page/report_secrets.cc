// SPDX-License-Identifier: BSD-2-Clause
#include "cli/page/report_secrets.h"

#include "core/secrets.h"

namespace memflame {

void hide_secrets(Report& report, bool anonymise) {
  for (Meta* meta : {&report.profile.meta, &report.lines.meta}) {
    meta->command = without_secrets(meta->command);
    if (!anonymise) continue;
    meta->command.clear();
    meta->host.clear();
  }
  if (anonymise) report.file.erase(0, report.file.rfind('/') + 1);
}

}  // namespace memflame
