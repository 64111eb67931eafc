// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/metrics_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include "core/utf8.h"

namespace memflame {
namespace {

constexpr size_t longest_value = 200;  // names of C++ functions may have thousands of bytes
constexpr std::array<std::string_view, 7> own_labels{"function", "stack",  "verdict", "output",
                                                     "result",   "reason", "le"};

std::string label_name(std::string_view name) {
  std::string plain;
  for (const char letter : name.substr(0, longest_value)) {
    const bool is_letter = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
    const bool is_digit = letter >= '0' && letter <= '9';
    plain += is_letter || (is_digit && !plain.empty()) ? letter : '_';
  }
  const bool is_taken = std::find(own_labels.begin(), own_labels.end(), plain) != own_labels.end();
  // Names with two underscores are Prometheus' own.
  return plain.empty() || is_taken || plain.starts_with("__") ? "label_" + plain : plain;
}

std::string label_value(std::string_view value) {
  const std::string_view kept = beginning(value, longest_value);
  std::string escaped;
  for (const char letter : kept) {
    if (letter == '\\' || letter == '"')
      (escaped += '\\') += letter;
    else if (letter == '\n')
      escaped += "\\n";
    else if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f)
      escaped += "\xef\xbf\xbd";  // readers take these for an end
    else
      escaped += letter;
  }
  return kept.size() < value.size() ? escaped + "…" : escaped;
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

}  // namespace

void MetricLabels::add(std::string_view name, std::string_view value) {
  if (!text_.empty()) text_ += ',';
  text_ += std::string(name) + "=\"" + label_value(value) + "\"";
}

MetricLabels::MetricLabels(const std::map<std::string, std::string>& labels) {
  std::set<std::string> taken;
  for (const auto& [name, value] : labels) {
    std::string plain = label_name(name);
    while (!taken.insert(plain).second) plain += '_';
    add(plain, value);
  }
}

MetricLabels MetricLabels::with(std::string_view name, std::string_view value) const {
  MetricLabels more = *this;
  more.add(name, value);
  return more;
}

void MetricsText::write(const MetricFamily& family,
                        const std::vector<std::pair<MetricLabels, double>>& samples) {
  if (samples.empty()) return;
  const std::string name(family.name), sample = name + (family.is_counter ? "_total" : "");
  const bool is_open = form_ == MetricsForm::openmetrics;
  const std::string& known_as = is_open ? name : sample;
  text_ += "# TYPE " + known_as + (family.is_counter ? " counter\n" : " gauge\n");
  if (is_open && !family.unit.empty())
    text_ += "# UNIT " + known_as + " " + std::string(family.unit) + "\n";
  text_ += "# HELP " + known_as + " " + std::string(family.help) + "\n";
  for (const auto& [labels, value] : samples)
    text_ += sample + (labels.text().empty() ? "" : "{" + labels.text() + "}") + " " +
             number_text(value) + "\n";
}

std::string MetricsText::finish() {
  if (form_ == MetricsForm::openmetrics) text_ += "# EOF\n";
  return std::move(text_);
}

}  // namespace memflame
