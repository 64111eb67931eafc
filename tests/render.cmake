# SPDX-License-Identifier: BSD-2-Clause
# memflame_render, memflame_palettes, and the readers in collapse/inputs/.
memflame_test(clean_text LIBS memflame_render)
memflame_test(name_order LIBS memflame_render)
memflame_test(layout LIBS memflame_render)
memflame_test(layout_widths LIBS memflame_render)
memflame_test(frame_tree LIBS memflame_render)
memflame_test(data_block LIBS memflame_render nlohmann_json::nlohmann_json ZLIB::ZLIB)
memflame_test(html LIBS memflame_render)
memflame_test(palette LIBS memflame_render memflame_palettes)
memflame_test(palette_rules LIBS memflame_render memflame_palettes)
memflame_test(name_attributes LIBS memflame_render)
memflame_test(transform LIBS memflame_render)
memflame_test(svg_options LIBS memflame_render pugixml::pugixml)
memflame_test(caption LIBS memflame_render)
memflame_test(output LIBS memflame_render)
memflame_test(folded_output LIBS memflame_render memflame_collapse)
memflame_test(folded_threads LIBS memflame_render)
memflame_test(svg LIBS memflame_render pugixml::pugixml)
memflame_test(drawn_defects LIBS memflame_render pugixml::pugixml)
memflame_test(table_outputs LIBS memflame_render nlohmann_json::nlohmann_json ZLIB::ZLIB)
memflame_test(json_output LIBS memflame_render nlohmann_json::nlohmann_json)

# What the browser tests look at.
add_executable(pictures browser/pictures.cc)
target_link_libraries(pictures PRIVATE memflame_render memflame_warnings)
if(NOT MEMFLAME_SANITIZE)
  add_test(NAME browser COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/browser/run $<TARGET_FILE:pictures>
           ${CMAKE_CURRENT_BINARY_DIR}/browser)
  set_tests_properties(browser PROPERTIES LABELS browser SKIP_RETURN_CODE 77 TIMEOUT 900)
endif()

# The viewer's modules that need no browser.
find_program(MEMFLAME_NODE node)
if(MEMFLAME_NODE)
  file(GLOB viewer_tests CONFIGURE_DEPENDS viewer/*.test.mjs)
  add_test(NAME viewer COMMAND ${MEMFLAME_NODE} --test ${viewer_tests})
  set_tests_properties(viewer PROPERTIES LABELS unit TIMEOUT 60)
endif()
