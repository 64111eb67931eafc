#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A script's help is the comment at its head. Scripts source this first, so that they do nothing for arguments
# that they do not understand. It has:
#
#   answer_help ARGUMENT…           prints the help and exits with 0 if -h or --help comes before any "--"
#   operands LEAST MOST ARGUMENT…   refuses options, and fewer or more operands
#   unknown_option OPTION           says that the script has no such option, and exits with 2
#   usage                           prints the help to standard error, and exits with 2

# This is read at once, because a relative $0 is wrong after cd.
script_help=$(sed -n '3,/^set/{/^#/s/^# \{0,1\}//p}' "$0")

answer_help() {
  local argument
  for argument in "$@"; do
    case $argument in
      -h | --help) printf '%s\n' "$script_help"; exit 0 ;;
      --) break ;;
    esac
  done
}

unknown_option() { echo "$0: unknown option $1 (see --help)" >&2; exit 2; }
usage() { printf '%s\n' "$script_help" >&2; exit 2; }

operands() {
  local least=$1 most=$2 argument
  shift 2
  for argument in "$@"; do
    [[ $argument != -* ]] || unknown_option "$argument"
  done
  (($# >= least && $# <= most)) || usage
}
