# SPDX-License-Identifier: BSD-2-Clause
# cmake -D from=FILE -D to=FILE -P pack.cmake: packs one file with zstd.
file(ARCHIVE_CREATE OUTPUT ${to} PATHS ${from} FORMAT raw COMPRESSION Zstd COMPRESSION_LEVEL 9)
