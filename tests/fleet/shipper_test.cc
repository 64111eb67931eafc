// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/shipper.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "core/error.h"
#include "tests/fleet/made_window.h"

using namespace memflame;
using memflame::tests::made_window;
using memflame::tests::TestFolder;

namespace {

constexpr ShipperPace fast{
    .first_pause = 0.01, .longest_pause = 0.05, .idle = 0.005, .tell = 0.01, .recount = 0.05};

// What a store was sent, which outlives the output.
struct MadeStore {
  std::mutex mutex;
  std::multiset<std::string> ids;
  std::atomic<bool> is_away{false}, is_stuck{false}, cannot_tell{false};
  std::atomic<int> tries{0}, told{0};
  std::string refused_id;
  size_t batch = 1;

  size_t size() {
    const std::lock_guard lock(mutex);
    return ids.size();
  }
};

class MadeOutput : public WindowOutput {
 public:
  explicit MadeOutput(std::shared_ptr<MadeStore> store) : store_(std::move(store)) {}
  size_t batch() const override { return store_->batch; }
  void send(std::span<const Window> windows) override {
    ++store_->tries;
    while (store_->is_stuck) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (store_->is_away) throw Error("cannot reach it");
    for (const Window& window : windows)
      if (window.head.id == store_->refused_id) throw Refused("never this one");
    const std::lock_guard lock(store_->mutex);
    for (const Window& window : windows) store_->ids.insert(window.head.id);
  }
  void tell(const FleetFigures& /*figures*/) override {
    if (store_->cannot_tell) throw Error("its port is in use");
    ++store_->told;
  }

 private:
  std::shared_ptr<MadeStore> store_;
};

bool comes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 5000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

class MadeFleet {
 public:
  TestFolder folder;
  std::shared_ptr<Spool> spool = std::make_shared<Spool>(folder.path / "spool", uint64_t{1} << 30U);
  std::map<std::string, std::shared_ptr<MadeStore>> stores;
  std::unique_ptr<Shipper> shipper;

  MadeStore& add(const std::string& name) {
    stores[name] = std::make_shared<MadeStore>();
    return *stores[name];
  }
  void begin() {
    std::map<std::string, std::unique_ptr<WindowOutput>> outputs;
    for (const auto& [name, store] : stores) outputs[name] = std::make_unique<MadeOutput>(store);
    shipper = std::make_unique<Shipper>(
        spool, std::move(outputs),
        [this](const std::string& line) {
          const std::lock_guard lock(mutex_);
          lines_.push_back(line);
        },
        fast);
  }
  std::vector<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace

TEST_CASE("a store that is away holds up no other, and gets all when it is back") {
  MadeFleet fleet;
  MadeStore& good = fleet.add("good");
  MadeStore& away = fleet.add("away");
  away.is_away = true;
  away.batch = 8;
  fleet.begin();
  for (int i = 0; i < 20; ++i) CHECK(fleet.spool->put(made_window(i), {"good", "away"}) == "");
  CHECK(comes_true([&] { return good.size() == 20 && away.tries > 3; }));
  CHECK(away.size() == 0);
  CHECK(fleet.shipper->figures().outputs.at("away").last_error == "cannot reach it");
  CHECK(fleet.shipper->figures().outputs.at("away").oldest_seconds > 0);
  away.is_away = false;
  CHECK(comes_true([&] { return away.size() == 20; }));
  CHECK(comes_true([&] { return fleet.spool->counts().outputs.at("away").waiting == 0; }));
  CHECK(comes_true([&] { return fleet.lines().size() == 2; }));
  CHECK(fleet.shipper->finish(5));
  const std::vector<std::string> lines = fleet.lines();
  REQUIRE(lines.size() == 2);  // many tries, but two changes
  CHECK(lines[0] ==
        "output 'away' takes no windows: cannot reach it (they wait in the spool; "
        "memflame keeps trying)");
  CHECK(lines[1].starts_with("output 'away' takes windows again, after "));
  CHECK(good.told > 0);
  CHECK(fleet.shipper->figures().outputs.at("away").last_error == "");
  CHECK(fleet.spool->counts().outputs.at("away").sent == 20);
}

TEST_CASE("an output that has nothing to send is not good because of that") {
  MadeFleet fleet;
  MadeStore& store = fleet.add("metrics");
  store.cannot_tell = true;
  fleet.begin();
  CHECK(comes_true([&] { return fleet.lines().size() == 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // many tries
  REQUIRE(fleet.lines().size() == 1);
  CHECK(fleet.lines()[0].find("takes no windows: its port is in use") != std::string::npos);
  store.cannot_tell = false;
  CHECK(comes_true([&] { return fleet.lines().size() == 2; }));
  CHECK(fleet.lines()[1].find("takes windows again") != std::string::npos);
}

TEST_CASE("one refused window of a batch is skipped, and the others arrive") {
  MadeFleet fleet;
  MadeStore& store = fleet.add("store");
  store.batch = 10;
  const Window bad = made_window(4);
  store.refused_id = bad.head.id;
  for (int i = 0; i < 10; ++i)
    CHECK(fleet.spool->put(i == 4 ? bad : made_window(i), {"store"}) == "");
  fleet.begin();
  CHECK(comes_true([&] { return fleet.spool->counts().outputs.at("store").waiting == 0; }));
  CHECK(fleet.shipper->finish(5));
  CHECK(store.size() == 9);
  CHECK(fleet.spool->counts().outputs.at("store").refused == 1);
  REQUIRE(fleet.lines().size() == 1);
  CHECK(fleet.lines()[0] ==
        "output 'store' refuses windows, which are lost for it: never this one");
}

TEST_CASE("at the end what waits is tried once more") {
  MadeFleet fleet;
  MadeStore& store = fleet.add("store");
  fleet.begin();
  CHECK(comes_true([&] { return store.told > 0; }));
  store.is_away = true;
  for (int i = 0; i < 5; ++i) fleet.spool->put(made_window(i), {"store"});
  CHECK(comes_true([&] { return store.tries > 0; }));
  store.is_away = false;
  CHECK(fleet.shipper->finish(5));
  CHECK(store.size() == 5);
}

TEST_CASE("the end is bounded, whatever a store does") {
  MadeFleet fleet;
  MadeStore& store = fleet.add("store");
  store.is_stuck = true;
  fleet.spool->put(made_window(1), {"store"});
  fleet.begin();
  CHECK(comes_true([&] { return store.tries > 0; }));
  const auto began = std::chrono::steady_clock::now();
  CHECK(!fleet.shipper->finish(0.1));
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(3));
  store.is_stuck = false;
  CHECK(fleet.shipper->finish(5));
}

TEST_CASE("what waits for an output that is gone is said, and stays") {
  MadeFleet fleet;
  fleet.spool->put(made_window(1), {"old"});
  fleet.add("new");
  fleet.begin();
  CHECK(comes_true([&] { return !fleet.lines().empty(); }));
  CHECK(fleet.lines()[0] ==
        "1 window waits for output 'old', which the configuration does not have any "
        "more");
  CHECK(fleet.shipper->finish(5));
  CHECK(fleet.spool->counts().outputs.at("old").waiting == 1);
}
