// SPDX-License-Identifier: BSD-2-Clause
#include "cli/drawing_options.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <string_view>

#include "cli/completed.h"
#include "cli/drawing_rows.h"
#include "cli/files/output_file.h"
#include "cli/options.h"
#include "core/error.h"
#include "render/picture/palette.h"

namespace po = boost::program_options;

namespace memflame {

void add_looks(po::options_description& options, bool own_sort) {
  for (const DrawingRow& row : drawing_rows()) {
    if (own_sort && is_sort(row)) continue;
    po::value_semantic* value = nullptr;
    if (row.takes == DrawingRow::Takes::nothing)
      value = po::bool_switch();
    else if (row.takes == DrawingRow::Takes::number)
      value = po::value<int>()->value_name(row.value_name);
    else
      value = completed(row.value_name, row.completion);
    options.add_options()(row.name, value, row.help.c_str());
  }
}

namespace {

bool is_given(const po::variables_map& values, const DrawingRow& row) {
  return !is_sort(row) && values.count(row.name) != 0 && !values[row.name].defaulted();
}

}  // namespace

std::vector<std::string> looks_given(const po::variables_map& values) {
  std::vector<std::string> given;
  for (const DrawingRow& row : drawing_rows())
    if (is_given(values, row)) given.emplace_back(row.name);
  return given;
}

void warn_of_unused_looks(const po::variables_map& values, const Output& output) {
  std::string list;
  for (const DrawingRow& row : drawing_rows()) {
    if (!is_given(values, row)) continue;
    if (output.is(as_page) && row.of == DrawingRow::Of::svg)
      std::cerr << "memflame: --" << row.name
                << " is ignored: it is for SVG, a page has every frame\n";
    if (output.is(as_image) && !output.is(with_links) && row.of == DrawingRow::Of::links)
      std::cerr << "memflame: --" << row.name << " is ignored: " << output.name
                << " has no tooltips and links\n";
    const bool used = row.of == DrawingRow::Of::every_format ||
                      (output.is(as_cells) && row.of == DrawingRow::Of::boxes) ||
                      (std::string_view(row.name) == "blame" && wants_modules(values));
    if (!used) list.append(list.empty() ? "--" : ", --").append(row.name);
  }
  if (output.is(as_cells) && !list.empty())
    std::cerr << "memflame: ignored, as text has only cells: " << list << "\n";
  else if (!output.is(as_image) && !output.is(as_page) && !list.empty())
    std::cerr << "memflame: ignored, as " << output.name << " is not a picture: " << list << "\n";
}

void take_looks(const po::variables_map& values, RenderOptions& render, bool own_sort) {
  for (const DrawingRow& row : drawing_rows())
    if (row.set != nullptr && values.count(row.name) != 0 && !(own_sort && is_sort(row)))
      row.set(values[row.name], render);
}

void refuse_order_of_time(const RenderOptions& render, const std::string& why) {
  if (render.order == Neighbours::by_time)
    throw Error("--flamechart needs input in the order of time; " + why, ExitCode::usage);
}

Transform transform_of(const po::variables_map& values) {
  Transform transform;
  transform.reverse = values["reverse"].as<bool>();
  take(values, "total", transform.total);
  take(values, "factor", transform.factor);
  take(values, "countname", transform.count_name);
  take(values, "notes", transform.notes);
  transform.anonymise = values["anonymise"].as<bool>();
  check_transform(transform);
  return transform;
}

}  // namespace memflame
