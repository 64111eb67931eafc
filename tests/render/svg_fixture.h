// SPDX-License-Identifier: BSD-2-Clause
// SVG pictures in a form that tests can examine.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <pugixml.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "render/output.h"
#include "tests/render/small_profile.h"

namespace memflame {

inline std::string svg(const Profile& p, const RenderOptions& options = {}) {
  std::ostringstream out;
  write_svg(out, p, options);
  return out.str();
}

struct DrawnBox {
  std::string name;
  std::vector<std::string> figures;  // the other lines of the tooltip
  int64_t offset, total;
  double x, width, y;  // y is that of the row
  std::string fill, text;
  bool merged;
};

class Picture {
 public:
  explicit Picture(const std::string& text) {
    const pugi::xml_parse_result result =
        document_.load_string(text.c_str(), pugi::parse_full | pugi::parse_ws_pcdata);
    CHECK_MESSAGE(result, result.description());
    root_ = document_.child("svg");
    for (const pugi::xml_node row :
         root_.find_child_by_attribute("class", "frames").children("g")) {
      if (std::string_view(row.attribute("class").value()) != "row") continue;
      std::vector<DrawnBox>& boxes = rows.emplace_back();
      for (const pugi::xml_node box : row.children("g")) boxes.push_back(drawn(row, box));
    }
    for (const pugi::xpath_node text_node : root_.select_nodes("*[@class='head']/g/text"))
      head.emplace_back(text_node.node().child_value());
    std::istringstream told(root_.find_child_by_attribute("class", "head").child_value("title"));
    for (std::string line; std::getline(told, line);) tooltip.push_back(line);
  }

  const DrawnBox& box(const std::string& name) const {
    for (const auto& row : rows)
      for (const DrawnBox& box : row)
        if (box.name == name) return box;
    FAIL("no box is called " << name);
    std::abort();
  }
  // In the head, or in its tooltip.
  bool says(const std::string& line) const {
    return std::find(head.begin(), head.end(), line) != head.end() ||
           std::find(tooltip.begin(), tooltip.end(), line) != tooltip.end();
  }
  pugi::xml_node root() const { return root_; }

  std::vector<std::vector<DrawnBox>> rows;  // by depth
  std::vector<std::string> head, tooltip;

 private:
  static DrawnBox drawn(const pugi::xml_node& row, const pugi::xml_node& box) {
    DrawnBox out{};
    std::istringstream lines(box.child_value("title"));
    std::getline(lines, out.name);
    for (std::string line; std::getline(lines, line);) out.figures.push_back(line);
    out.offset = std::stoll(box.attribute("data-o").value());
    out.total = std::stoll(box.attribute("data-v").value());
    out.x = box.child("rect").attribute("x").as_double();
    out.width = box.child("rect").attribute("width").as_double();
    out.fill = box.child("rect").attribute("fill").value();
    out.text = box.child_value("text");
    out.merged = std::string_view(box.attribute("class").value()) == "merged";
    const std::string_view place = row.attribute("transform").value();
    out.y = std::strtod(place.substr(std::string_view("translate(0 ").size()).data(), nullptr);
    return out;
  }

  pugi::xml_document document_;
  pugi::xml_node root_;
};

// The whole document, for searches in it.
inline size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace memflame
