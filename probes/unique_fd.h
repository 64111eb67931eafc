// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "core/unique_fd.h"
