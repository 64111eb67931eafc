// Writing results so that a failure leaves nothing half-written.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>

namespace memflame {

// Calls `write` with the stream for `path`; "" and "-" mean standard output. A file is written
// beside its final name and renamed when complete. Throws Error.
void write_output(const std::string& path, const std::function<void(std::ostream&)>& write);

// A file for lines that come one after the other, there from the first one on; "" and "-" mean
// standard output. What was there is replaced, unless it is a device or a pipe. Throws Error.
std::unique_ptr<std::ostream> open_lines(const std::string& path);

// Refuses early what could only fail late: a folder that is not there or not writable.
void require_writable(const std::string& path);

bool stdout_is_terminal();

}  // namespace memflame
