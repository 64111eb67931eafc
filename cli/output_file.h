// Writing results so that a failure leaves nothing half-written.
#pragma once

#include <functional>
#include <ostream>
#include <string>

namespace memflame {

// Calls `write` with the stream for `path`; "" and "-" mean standard output. A file is written
// beside its final name and renamed when complete. Throws Error.
void write_output(const std::string& path, const std::function<void(std::ostream&)>& write);

// Refuses early what could only fail late: a folder that is not there or not writable.
void require_writable(const std::string& path);

bool stdout_is_terminal();

}  // namespace memflame
