// SPDX-License-Identifier: BSD-2-Clause
// What memflame's own formats state about a profile apart from its stacks, as JSON: units, origin,
// notes and losses.
#pragma once

#include <string>

#include "collapse/text/issues.h"
#include "collapse/text/json_walk.h"
#include "core/profile.h"

namespace memflame {

// A reader's own steps lead to these places, and to others from `first_free` on, which it handles
// itself.
class MemflameFacts : public JsonVisitor {
 public:
  enum Place : uint8_t {
    other,
    document,
    value_types,
    value_type,
    reconciliation,
    check,
    notes,
    losses,
    loss,
    first_free,
  };

  explicit MemflameFacts(Source& source) : source_(source) {}

  void begin(uint8_t place, std::string_view key) override;
  void end(uint8_t place) override;
  void text(uint8_t place, std::string_view key, std::string& text) override;
  void number(uint8_t place, std::string_view key, const JsonNumber& number) override;

 protected:
  // Throws Error if the number does not fit in 64 bits.
  int64_t whole(const JsonNumber& number, int decimals = 0) const;

  Source& source_;
  Profile profile_;
  Issues issues_;
  bool variances_are_columns_ = false;

 private:
  double variance_unit(const JsonNumber& number) const;

  std::string loss_name_;
  LossCount loss_;
  ValueType type_;
};

}  // namespace memflame
