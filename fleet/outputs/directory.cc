// SPDX-License-Identifier: BSD-2-Clause
// Files for object stores, `rsync` and `go tool pprof`: FOLDER/SERVICE/DAY/TIME-ID.pb.gz, and
// beside each of them its head as TIME-ID.json, which has the labels and figures.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/hex.h"
#include "fleet/folders.h"
#include "fleet/output.h"
#include "fleet/outputs/retention.h"

namespace memflame {
namespace {

constexpr double usual_keep = 7 * 86400;  // seconds
constexpr uint64_t usual_most = uint64_t{10} << 30U;
constexpr size_t longest_folder_name = 120;

// A service as a name of a folder, which is never one above, and never hidden.
std::string folder_name(const std::string& service) {
  if (service.empty()) return "unknown";
  std::string name = url_encoded(service);
  if (name[0] == '.') name.replace(0, 1, "%2E");
  if (name.size() <= longest_folder_name) return name;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(service.data());
  return name.substr(0, longest_folder_name) + "-" +
         hex(uint64_t{::crc32_z(0, bytes, service.size())}).substr(2);
}

void write_in(int folder, const std::string& name, std::string_view bytes) {
  // What a killed process left of the same window.
  const std::string partial = "." + name + ".partial";
  ::unlinkat(folder, partial.c_str(), 0);
  int error = write_new_file(folder, partial, bytes, 0666);
  if (error == 0) error = sync_file(folder, partial);
  if (error == 0 && ::renameat(folder, partial.c_str(), folder, name.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlinkat(folder, partial.c_str(), 0);
  throw Error("cannot write " + name + ": " + std::strerror(error));
}

class DirectoryOutput : public WindowOutput {
 public:
  DirectoryOutput(std::string folder, double keep_seconds, uint64_t most_bytes)
      : folder_(std::move(folder)), retention_(keep_seconds, most_bytes) {}

  size_t batch() const override { return 16; }

  void send(std::span<const Window> windows) override {
    // Opened each time: it may be mounted later.
    const SharedFd root = open_path(folder_, 0777);
    const int opened = root.get();
    // First, so that there is room again on a disk that is full.
    retention_.tidy(opened, ::time(nullptr));
    for (const Window& window : windows) {
      try {
        write(opened, window);
      } catch (const NotAFolder& problem) {
        // The windows of other services must not wait for it.
        throw Refused(problem.what());
      }
    }
  }

 private:
  void write(int root, const Window& window) {
    const auto at = window.head.labels.find("service");
    const auto ended = static_cast<time_t>(window.head.ended_ns / 1'000'000'000);
    const SharedFd service =
        open_folder(root, folder_name(at == window.head.labels.end() ? "" : at->second), 0777);
    const SharedFd day = open_folder(service.get(), day_text(ended), 0777);
    const std::string stem = instant_text(ended) + "-" + window.head.id;
    const std::string head = to_json(window.head) + "\n";
    // The head first: who finds a profile finds its labels.
    write_in(day.get(), stem + ".json", head);
    write_in(day.get(), stem + ".pb.gz", window.pprof);
    retention_.note_new(head.size() + window.pprof.size());
  }

  std::string folder_;
  Retention retention_;
};

}  // namespace

std::unique_ptr<WindowOutput> make_directory(const Setting& settings) {
  settings.allow({"kind", "folder", "keep", "most"});
  const Setting folder = settings.get("folder");
  if (!folder.text().starts_with('/'))
    folder.fail("'" + folder.text() + "' must be a whole path, which begins with '/'");
  const std::optional<Setting> keep = settings.find("keep"), most = settings.find("most");
  return std::make_unique<DirectoryOutput>(folder.text(), keep ? keep->seconds() : usual_keep,
                                           most ? most->bytes() : usual_most);
}

}  // namespace memflame
