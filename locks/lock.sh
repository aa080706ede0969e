#!/bin/sh
# Make the locks again, for every platform, with hashes. Needs uv.
# A lock holds names, versions and hashes, and no address.
set -eu
cd "$(dirname "$0")/.."
compile() {
    uv pip compile --quiet --universal --generate-hashes \
        --python-version 3.11 --no-annotate \
        --no-emit-index-url --no-emit-find-links \
        --custom-compile-command "sh locks/lock.sh" "$@"
}
compile locks/test.in -o locks/test.txt
compile -c locks/test.txt locks/build.in -o locks/build.txt
compile -c locks/test.txt locks/backend.in -o locks/backend.txt
