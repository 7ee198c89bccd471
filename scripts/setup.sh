#!/usr/bin/env bash
# Makes .venv with aes and the engine this machine can use: vLLM for GPUs where there is one, for the CPU elsewhere.
# Usage: scripts/setup.sh run|dev   (dev adds what tests and checks need)
set -euo pipefail
cd "$(dirname "$0")/.."
want=${1:-run}

find_python() {
  for candidate in ${PYTHON:-} python3 python3.12 python3.11 python3.13 python; do
    if command -v "$candidate" >/dev/null 2>&1 &&
      "$candidate" -c 'import sys; sys.exit(not sys.version_info >= (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  echo "aes needs Python 3.11 or newer and found none (set PYTHON=/path/to/python3.11)" >&2
  exit 2
}

engine() {
  if command -v nvidia-smi >/dev/null 2>&1 && nvidia-smi -L 2>/dev/null | grep -q GPU; then echo gpu; else echo cpu; fi
}

extras=$(engine)
[ "$want" = dev ] && extras="$extras,dev"
python=$(find_python)
[ -x .venv/bin/python ] || "$python" -m venv .venv

echo "aes set-up: installing aes-runtime[$extras] into .venv (a few minutes the first time)"
if ! .venv/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[$extras]"; then
  cat >&2 <<'MESSAGE'

aes set-up failed while installing. If the line above says that no torch "+cpu" version was found: the CPU build of
vLLM pins PyTorch's CPU build, which is not on the public package index. Add PyTorch's own index of CPU wheels (its
address is on PyTorch's "Get started" page) and try again:

    export PIP_EXTRA_INDEX_URL=<address of PyTorch's index of CPU wheels>
MESSAGE
  exit 1
fi

# vLLM brings torchvision and its siblings, sometimes built for another torch; then every transformers model fails to
# import. aes needs none of them.
if ! .venv/bin/python -c 'import torchvision' >/dev/null 2>&1; then
  .venv/bin/python -m pip uninstall --quiet --disable-pip-version-check --yes torchvision torchaudio torchcodec || true
fi

touch .venv/ready-run
[ "$want" = dev ] && touch .venv/ready-dev
exit 0
