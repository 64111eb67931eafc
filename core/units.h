// SPDX-License-Identifier: BSD-2-Clause
// How numbers are written for people, and how people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/profile.h"

namespace memflame {

inline constexpr int64_t page_bytes = 4096;  // x86-64 base page

std::string with_commas(int64_t value);          // 1234567 -> "1,234,567"
std::string iec_bytes(int64_t bytes);            // 124675686 -> "118.9 MiB"; below 1 KiB "812 B"
std::string percent(double part, double whole);  // "98.8 %"; "-" when the whole is 0

// A standard error as a whole number, rounded up.
int64_t rounded_up(double error);

// "118.9 MiB", "30,826 pages (120.4 MiB)", "1.250 s", and plain counts "12"; with a fraction if the
// type has decimals and the fraction is not 0: "12.5".
std::string human(int64_t value, const ValueType& type);

// "captured 8.6 MiB of 8.6 MiB [heap] growth (100.0 %)"; without a share if the two need not agree:
// "allocated and not freed 19.9 MiB, VmRSS growth 648.0 KiB: they need not agree".
std::string in_words(const Reconciliation& row);

// " events have a cut stack", with the verb that fits the number before it.
std::string have_cut_stacks(uint64_t events);

// A value with decimals as a whole number, halves rounded away from zero.
int64_t whole(int64_t value, uint8_t decimals);

// "4096", "512K", "1.5M", "2GiB": bytes, below 2^63. None if it is not a number of bytes.
std::optional<uint64_t> byte_count(std::string_view text);

// The seconds of a unit: s, m, h or d; none for other letters.
std::optional<double> seconds_of_unit(char letter);

// "90", "90s", "10m", "1.5h", "1m30s": seconds. None if it is not a length of time.
std::optional<double> parse_duration(std::string_view text);

// All digits without commas: "1250", with two decimals "12.50".
std::string plain(int64_t value, uint8_t decimals);

}  // namespace memflame
