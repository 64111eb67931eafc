// SPDX-License-Identifier: BSD-2-Clause
#include "core/secrets.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using memflame::without_secrets;
using Words = std::vector<std::string>;

TEST_CASE("values that their names call secret are hidden") {
  CHECK(without_secrets(Words{"server", "--password=abc", "--port=80"}) ==
        Words{"server", "--password=***", "--port=80"});
  CHECK(without_secrets(Words{"server", "--token", "abc", "--verbose"}) ==
        Words{"server", "--token", "***", "--verbose"});
  CHECK(without_secrets(Words{"env", "AWS_SECRET_ACCESS_KEY=a/b+c=", "DB_PASS=x", "HOME=/root"}) ==
        Words{"env", "AWS_SECRET_ACCESS_KEY=***", "DB_PASS=***", "HOME=/root"});
  CHECK(without_secrets(Words{"java", "-Djavax.net.ssl.keyStorePassword=x", "--apiKey=x"}) ==
        Words{"java", "-Djavax.net.ssl.keyStorePassword=***", "--apiKey=***"});
  CHECK(without_secrets(Words{"x", "--pass-phrase", "a b c", "file"}) ==
        Words{"x", "--pass-phrase", "***", "file"});
}

TEST_CASE("names that only look alike are left alone") {
  const Words words{"x",
                    "--tokenizer=bert",
                    "--compass=n",
                    "--monkey",
                    "7",
                    "PWD=/tmp",
                    "--keyboard",
                    "us",
                    "-p",
                    "1234",
                    "--no-password",
                    "--verbose",
                    "passenger=1",
                    "a:b@c",
                    "-pabc"};
  CHECK(without_secrets(words) == words);
}

TEST_CASE("a flag takes nothing from the option behind it") {
  CHECK(without_secrets(Words{"x", "--ask-password", "--port", "80"}) ==
        Words{"x", "--ask-password", "--port", "80"});
}

TEST_CASE("short options of programs that are known") {
  CHECK(without_secrets(Words{"/usr/bin/mysql", "-pabc", "-u", "root", "db"}) ==
        Words{"/usr/bin/mysql", "-p***", "-u", "root", "db"});
  CHECK(without_secrets(Words{"mysql", "-p", "db"}) == Words{"mysql", "-p", "db"});
  CHECK(without_secrets(Words{"sshpass", "-p", "-abc", "ssh", "host"}) ==
        Words{"sshpass", "-p", "***", "ssh", "host"});
  CHECK(without_secrets(Words{"curl", "-u", "me:abc", "--user", "me:abc", "-ume:abc"}) ==
        Words{"curl", "-u", "me:***", "--user", "me:***", "-ume:***"});
}

TEST_CASE("addresses and headers") {
  CHECK(without_secrets(Words{"x", "postgres://me:abc@db:5432/name"}) ==
        Words{"x", "postgres://me:***@db:5432/name"});
  CHECK(without_secrets(Words{"x", "--url=https://me:a:b@h/p?token=abc&page=2"}) ==
        Words{"x", "--url=https://me:***@h/p?token=***&page=2"});
  CHECK(without_secrets(Words{"git", "clone", "https://ghp_abc@github.com/a/b"}) ==
        Words{"git", "clone", "https://***@github.com/a/b"});
  CHECK(without_secrets(Words{"x", "ssh://git@host/p", "https://host/a@b:c"}) ==
        Words{"x", "ssh://git@host/p", "https://host/a@b:c"});
  CHECK(without_secrets(Words{"curl", "-H", "Authorization: Bearer abc", "X-Api-Key: abc"}) ==
        Words{"curl", "-H", "Authorization: ***", "X-Api-Key: ***"});
}

TEST_CASE("a command within a word, and text") {
  CHECK(without_secrets(
            Words{"sh", "-c", "exec env DB_PASSWORD='a b' mysql -pabc  db --token abc"}) ==
        Words{"sh", "-c", "exec env DB_PASSWORD=*** mysql -p***  db --token ***"});
  CHECK(without_secrets("perf record -- x --password=abc -v") ==
        "perf record -- x --password=*** -v");
  CHECK(without_secrets(without_secrets("x --token abc")) == "x --token ***");
  CHECK(without_secrets(Words{"env", "DB_PASSWORD=a b -v", "x"}) ==
        Words{"env", "DB_PASSWORD=***", "x"});
  CHECK(without_secrets("") == "");
  CHECK(without_secrets(Words{"x", "--password="}) == Words{"x", "--password=***"});
}
