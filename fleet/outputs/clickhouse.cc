// SPDX-License-Identifier: BSD-2-Clause
// Windows into ClickHouse: docs/fleet.md, "The store".
#include "fleet/clickhouse/schema.h"
#include "fleet/clickhouse/writer.h"
#include "fleet/output.h"

namespace memflame {
namespace {

class ClickHouseOutput : public WindowOutput {
 public:
  ClickHouseOutput(StoreAddress address, size_t batch)
      : writer_(std::move(address)), batch_(batch) {}

  size_t batch() const override { return batch_; }
  void send(std::span<const Window> windows) override { writer_.send(windows); }

 private:
  StoreWriter writer_;
  size_t batch_;
};

}  // namespace

std::unique_ptr<WindowOutput> make_clickhouse(const Setting& settings) {
  settings.allow({"kind", "database", "batch", MEMFLAME_HTTP_SETTINGS});
  constexpr double usual_batch = 64, most_batch = 10'000;
  StoreAddress address{.url = http_url(settings), .access = http_access(settings)};
  if (const std::optional<Setting> database = settings.find("database")) {
    address.database = database->text();
    try {
      require_database_name(address.database);
    } catch (const Error& error) {
      database->fail(error.what());
    }
  }
  const std::optional<Setting> batch = settings.find("batch");
  const double windows = batch ? batch->number(1, most_batch) : usual_batch;
  return std::make_unique<ClickHouseOutput>(std::move(address), static_cast<size_t>(windows));
}

}  // namespace memflame
