# SPDX-License-Identifier: BSD-2-Clause
# Installs documentation and licences (cli/ installs the program, its manual pages and completion), and defines
# Debian's package.
install(FILES README.md CHANGELOG.md LICENSE LICENSE.GPL-2 DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES SECURITY.md CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY packaging/prometheus DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES packaging/watch/watch.json DESTINATION ${CMAKE_INSTALL_DOCDIR}/watch)
install(FILES packaging/watch/memflame.service DESTINATION lib/systemd/system)

set(MEMFLAME_MAINTAINER "The authors of memflame <memflame@localhost.localdomain>"
    CACHE STRING "Who is responsible for a package made by cpack: NAME <ADDRESS>")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_SOURCE_GENERATOR "")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_CONTACT ${MEMFLAME_MAINTAINER})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "flame graphs of the memory of running programs")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "memflame shows which code paths of a live Linux machine eat the memory.\n\
It attaches eBPF probes to processes that already run, adds up bytes or\n\
pages per call stack, and draws an interactive flame graph as one SVG file.\n\
It also reads the stacks and heap profiles of many other tools, compares\n\
them and draws them.")
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Loaded only to draw PNG and PDF (render/outputs/raster_library.h), so shlibdeps does not see it.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "librsvg2-2, fonts-dejavu-core, libcurl4")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
set(CPACK_MEMFLAME_SOURCE ${CMAKE_CURRENT_LIST_DIR})
include(CPack)
