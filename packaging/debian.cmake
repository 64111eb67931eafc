# SPDX-License-Identifier: BSD-2-Clause
# CPack runs this on the installed tree before it makes the package, to meet Debian's policy.
cmake_path(SET doc ${CPACK_TEMPORARY_DIRECTORY}/usr/share/doc/memflame)
file(REMOVE ${doc}/LICENSE ${doc}/LICENSE.GPL-2)  # copyright has them
file(COPY ${CPACK_MEMFLAME_SOURCE}/copyright DESTINATION ${doc})

# The day of the commit, if scripts/package has set it (SOURCE_DATE_EPOCH).
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${doc}/changelog.Debian
     "memflame (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
     "  * memflame ${CPACK_PACKAGE_VERSION}; changelog.gz lists what has changed.\n\n"
     " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
file(RENAME ${doc}/CHANGELOG.md ${doc}/changelog)
file(GLOB pages ${CPACK_TEMPORARY_DIRECTORY}/usr/share/man/man1/*.1)
execute_process(COMMAND gzip -9n ${pages} ${doc}/changelog ${doc}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
