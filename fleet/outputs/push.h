// SPDX-License-Identifier: BSD-2-Clause
// What the stores have in common that profiles are pushed to.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/http.h"
#include "fleet/settings.h"
#include "fleet/window.h"

namespace memflame {

struct PushTarget {
  std::string url;  // of the store
  HttpAccess access;
};

// Reads "url", how to reach it, and "tenant", which becomes a header that Grafana's stores know.
PushTarget push_target(const Setting& settings);

// Returns the body of the answer. Throws Refused if the store will never take this, else Error.
std::string push(const PushTarget& target, const std::string& path, const std::string& type,
                 std::string_view body, const std::string& further_header = "");

// A label's name as Prometheus has them; others do not take others.
std::string plain_label_name(std::string_view name);

std::string label_in(const WindowHead& head, const std::string& name);  // "" = it has none

}  // namespace memflame
