// SPDX-License-Identifier: BSD-2-Clause
// A window as a request of OpenTelemetry's profiles (OTLP, v1development).
#pragma once

#include <string>
#include <string_view>

#include "fleet/window.h"

namespace memflame {

// An ExportProfilesServiceRequest. Each column of the profile is a profile of its own, with an id
// that follows from the window's. Throws Error if the window's profile is damaged.
std::string otlp_request(const Window& window);

// Why profiles were rejected, by an ExportProfilesServiceResponse; "" = none were.
std::string otlp_rejection(std::string_view response);

}  // namespace memflame
