#!/bin/bash
# function not() {
set -e
greet() { # DEF function greet
  echo "it's ${#1} # not a comment"
}
function build-all { # DEF function build-all
  cat <<EOF
fake() {
don't
EOF
}
after () # DEF function after
{
  :
}
