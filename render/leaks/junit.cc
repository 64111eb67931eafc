// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <pugixml.hpp>
#include <string>

#include "render/leaks/leak_output.h"

namespace memflame {
namespace {

std::string junit_seconds(double seconds) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.3f", seconds);
  return text.data();
}

std::string stack_text(const LeakCase& each) {
  std::string text = headline(each) + "\n";
  for (const std::string& line : reach_lines(each)) text += line + "\n";
  for (const std::string& line : frame_lines(each)) text += "  " + line + "\n";
  return text;
}

// Two stacks may have one caller; readers of JUnit take cases of one name for one.
class Names {
 public:
  std::string unique(const LeakCase& each) {
    std::string name;
    for (size_t i = each.caller; i < std::min(each.caller + 3, each.frames.size()); ++i)
      name += (name.empty() ? "" : " ← ") + each.frames[i].function;
    if (name.empty()) name = "[no stack]";
    const int number = ++seen_[name];
    return number == 1 ? name : name + " #" + std::to_string(number);
  }

 private:
  std::map<std::string, int> seen_;
};

void add_property(pugi::xml_node properties, const char* name, const std::string& value) {
  pugi::xml_node property = properties.append_child("property");
  property.append_attribute("name").set_value(name);
  property.append_attribute("value").set_value(value.c_str());
}

void add_properties(pugi::xml_node suite, const LeakCheck& check) {
  pugi::xml_node properties = suite.append_child("properties");
  std::string conditions;
  for (const std::string& condition : check.conditions)
    conditions += (conditions.empty() ? "" : " ") + condition;
  add_property(properties, "conditions", conditions);
  add_property(properties, "source", check.source);
  if (!check.baseline.empty()) add_property(properties, "baseline", check.baseline);
  add_property(properties, "leaked bytes", std::to_string(check.leaked_bytes));
  add_property(properties, "leaked blocks", std::to_string(check.leaked_blocks));
  for (const std::string& doubt : check.doubts) add_property(properties, "not certain", doubt);
}

pugi::xml_node add_case(pugi::xml_node suite, const std::string& group, const std::string& name) {
  pugi::xml_node test = suite.append_child("testcase");
  test.append_attribute("classname").set_value(group.c_str());
  test.append_attribute("name").set_value(name.c_str());
  test.append_attribute("time").set_value("0");
  return test;
}

void fail(pugi::xml_node test, const std::string& type, const std::string& message,
          const std::string& text) {
  pugi::xml_node failure = test.append_child("failure");
  failure.append_attribute("message").set_value(message.c_str());
  failure.append_attribute("type").set_value(type.c_str());
  failure.text().set(text.c_str());
}

}  // namespace

void write_leaks_junit(std::ostream& out, const LeakCheck& check) {
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version").set_value("1.0");
  declaration.append_attribute("encoding").set_value("UTF-8");
  pugi::xml_node suites = document.append_child("testsuites");
  pugi::xml_node suite = suites.append_child("testsuite");
  suite.append_attribute("name").set_value("memflame leaks");
  pugi::xml_attribute tests = suite.append_attribute("tests");
  pugi::xml_attribute failures = suite.append_attribute("failures");
  suite.append_attribute("errors").set_value("0");
  pugi::xml_attribute skips = suite.append_attribute("skipped");
  suite.append_attribute("time").set_value(junit_seconds(check.seconds).c_str());
  add_properties(suite, check);

  size_t number = 0, failed = 0, skipped = 0;
  Names names;
  for (const LeakCase& each : check.cases) {
    if (!is_listed(each)) continue;
    ++number;
    pugi::xml_node test = add_case(suite, "leaks." + each.process, names.unique(each));
    if (each.outcome == CaseOutcome::failed) {
      ++failed;
      fail(test, each.rule, headline(each), stack_text(each));
    } else if (each.outcome != CaseOutcome::passed) {
      ++skipped;
      const std::string why = each.outcome == CaseOutcome::unsure ? each.sentence : each.reason;
      test.append_child("skipped").append_attribute("message").set_value(why.c_str());
    }
  }
  // The sum is a case of its own, so that a file without stacks is not taken for a broken one.
  ++number;
  pugi::xml_node sum = add_case(suite, "leaks", "all leaks together");
  if (const std::string why = sum_in_words(check); !why.empty()) {
    ++failed;
    fail(sum, "leaked", why, why + "\n");
  }
  tests.set_value(number);
  failures.set_value(failed);
  skips.set_value(skipped);
  document.save(out, "  ", pugi::format_default, pugi::encoding_utf8);
}

}  // namespace memflame
