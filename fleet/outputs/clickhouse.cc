// SPDX-License-Identifier: BSD-2-Clause
// Windows into ClickHouse.
#include "fleet/clickhouse/question.h"
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
  constexpr double standard_batch = 64, most_batch = 10'000;
  const Setting where = settings.get("url");
  StoreAddress address;
  try {
    address = store_address_of(where.text());
  } catch (const Error& error) {
    where.fail(error.what());
  }
  HttpAccess access = http_access(settings);
  if (access.user.empty()) access.user = address.access.user;
  if (access.password_file.empty()) access.password_file = address.access.password_file;
  if (access.token_file.empty()) access.token_file = address.access.token_file;
  if (access.ca_file.empty()) access.ca_file = address.access.ca_file;
  address.access = std::move(access);
  const std::optional<Setting> batch = settings.find("batch");
  return std::make_unique<ClickHouseOutput>(
      std::move(address),
      static_cast<size_t>(batch ? batch->number(1, most_batch) : standard_batch));
}

}  // namespace memflame
