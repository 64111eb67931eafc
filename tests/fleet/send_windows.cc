// SPDX-License-Identifier: BSD-2-Clause
// Sends made windows to a store, for tests:
//
//   send_windows clickhouse://HOST/DATABASE [--half] [FOLDER] < WINDOWS
//
// Each line of standard input is a window: its head as in fleet/window.h, and "stacks", a list of
// {"frames": [[name, kind, module, file, line]…], "values": {"inuse_space": 1}}. Labels that are
// not text stand in "label_bytes", as hex. With FOLDER, each profile is also written to
// FOLDER/ID.pb.gz. With --half, the windows' own rows are missing, as if the connection broke. In
// place of an address it takes the settings of an output, as a configuration has them: {"kind": …}.
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "collapse/input.h"
#include "core/error.h"
#include "core/kind_names.h"
#include "fleet/clickhouse/question.h"
#include "fleet/clickhouse/writer.h"
#include "fleet/output.h"
#include "render/output.h"

using namespace memflame;
using nlohmann::json;

namespace {

std::string bytes_of(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

StackId push_frames(Profile& profile, const json& frames) {
  StackId stack;
  for (const json& frame : frames) {
    FrameKind kind = FrameKind::user;
    parse_kind(frame.size() > 1 ? frame[1].get<std::string>() : "user", kind);
    const auto text = [&](size_t i) {
      return frame.size() > i ? frame[i].get<std::string>() : std::string();
    };
    stack = profile.push(stack, text(0), kind, text(2), text(3),
                         frame.size() > 4 ? frame[4].get<uint32_t>() : 0);
  }
  return stack;
}

std::string pprof_of(const json& made) {
  Profile profile;
  profile.meta.title = "made";
  for (const WindowType& type : window_types)
    profile.types.push_back({std::string(type.name), type.unit});
  for (const json& stack : made.at("stacks")) {
    std::vector<int64_t> values;
    values.reserve(window_types.size());
    for (const WindowType& type : window_types)
      values.push_back(stack.at("values").value(std::string(type.name), int64_t{0}));
    profile.add(push_frames(profile, stack.at("frames")), values);
  }
  std::ostringstream out;
  output_for("pprof", "").write(out, profile, {});
  return out.str();
}

Window window_of(const std::string& line) {
  json made = json::parse(line);
  Window window;
  window.pprof = pprof_of(made);
  const json labels = made.value("label_bytes", json::object());
  if (!made.contains("id")) made["id"] = new_window_id();
  if (!made.contains("figures")) made["figures"] = json::object();
  if (!made.contains("top")) made["top"] = json::array();
  window.head = head_from_json(made.dump());
  for (const auto& [name, hex] : labels.items())
    window.head.labels[name] = bytes_of(hex.get<std::string>());
  return window;
}

void send_half(const StoreAddress& address, const std::vector<Window>& windows) {
  const ClickHouse store(address);
  WindowRows rows;
  for (const Window& window : windows) {
    Source source = Source::of_memory(window.pprof);
    rows.add(window.head, read_profile(source, "pprof", {.code = true, .lines = true}), new_load());
  }
  store.insert(samples_columns, rows.samples());
}

int run(const std::vector<std::string>& arguments) {
  std::vector<Window> windows;
  for (std::string line; std::getline(std::cin, line);) windows.push_back(window_of(line));
  if (arguments.at(0).starts_with('{')) {
    make_output(Setting::read(arguments[0], "settings"))->send(windows);
    return 0;
  }
  const StoreAddress address = store_address_of(arguments[0]);
  const bool is_half = arguments.size() > 1 && arguments[1] == "--half";
  if (arguments.size() > 1 && !is_half)
    for (const Window& window : windows)
      std::ofstream(arguments[1] + "/" + window.head.id + ".pb.gz") << window.pprof;
  if (is_half)
    send_half(address, windows);
  else
    StoreWriter(address).send(windows);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "send_windows: " << error.what() << "\n";
    return 1;
  }
}
