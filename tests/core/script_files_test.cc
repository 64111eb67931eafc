// SPDX-License-Identifier: BSD-2-Clause
#include "core/script_files.h"

#include <doctest/doctest.h>

#include "core/owner.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("files of Python, PHP and JavaScript belong to packages, or to the application") {
  CHECK(script_package("/srv/app.py").empty());
  CHECK(script_package("app.py").empty());
  CHECK(script_package("/srv/lib/pythonic/app.py").empty());
  CHECK(script_package("/usr/lib/python3/dist-packages/flask/app.py") == "flask");
  CHECK(script_package("/srv/venv/lib/python3.12/site-packages/six.py") == "six");
  CHECK(script_package("/usr/lib/python3.11/json/decoder.py") == "python");
  CHECK(script_package("<frozen importlib._bootstrap>") == "python");
  CHECK(script_package("/srv/node_modules/express/lib/router.js") == "express");
  CHECK(script_package("/srv/node_modules/a/node_modules/@b/c/index.js") == "@b/c");
  CHECK(script_package("node:internal/timers") == "node");
  CHECK(script_package("/srv/server.js").empty());
  CHECK(script_package("/srv/vendor/symfony/http-kernel/Kernel.php") == "symfony/http-kernel");
  CHECK(script_package("/srv/vendor/twig/twig/src/T.php(36) : eval()'d code") == "twig/twig");
  CHECK(script_package("/srv/vendor/composer/ClassLoader.php") == "composer");
  CHECK(script_package("/srv/vendor/autoload.php") == "composer");
  CHECK(script_package("/srv/src/index.php").empty());
  CHECK(script_package("/srv/vendor/app/server").empty());
}

TEST_CASE("interpreters are known by the names of their files") {
  for (const char* path :
       {"/usr/bin/python3.11", "/usr/bin/python3", "/opt/lib/libpython3.12.so.1.0", "/usr/bin/node",
        "libnode.so.108", "/usr/bin/php8.2", "/usr/sbin/php-fpm8.2", "libphp8.2.so", "php"})
    CHECK_MESSAGE(is_interpreter(path), path);
  for (const char* path : {"/srv/pythonista", "/usr/bin/nodejs-exporter", "/srv/app",
                           "libpythonic.so", "/usr/bin/phpunit"})
    CHECK_FALSE_MESSAGE(is_interpreter(path), path);
}

TEST_CASE("whose code a function of an interpreted language is") {
  Profile profile;
  const auto owner = [&](const char* module, const char* file) {
    const Frame frame{.function = profile.strings.intern("f"),
                      .module = profile.strings.intern(module),
                      .file = profile.strings.intern(file)};
    return owner_of(profile, frame);
  };
  CHECK(owner("/srv/app.py", "/srv/app.py") == Owner::application);
  CHECK(owner("/usr/lib/python3.11/re.py", "/usr/lib/python3.11/re.py") == Owner::library);
  CHECK(owner("/usr/bin/python3.11", "ceval.c") == Owner::library);
  CHECK(owner("/srv/server", "server.c") == Owner::application);
}
