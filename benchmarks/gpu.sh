#!/usr/bin/env bash
# Everything worth knowing on a machine with a GPU, in ten minutes at most; nothing depends on it.
#
#   bash benchmarks/gpu.sh [FOLDER FOR RESULTS] [--device cpu --small]
#
# It takes the Python that PYTHON names, else .venv's, else python3: torch must be there, vLLM may be. Parts that fail
# are told and skipped. Torch comes first, in a process of its own: it needs a minute, and leaves the GPU to vLLM.
set -uo pipefail
cd "$(dirname "$0")/.."

out=${OUT:-benchmarks}
if [[ $# -gt 0 && $1 != --* ]]; then out=$1; shift; fi
python=${PYTHON:-$([[ -x .venv/bin/python ]] && echo .venv/bin/python || echo python3)}
mkdir -p "$out"
export HF_HUB_OFFLINE=1

nvidia-smi 2>/dev/null || echo "no GPU is to be seen"
timeout 180 "$python" benchmarks/gpu.py --no-vllm --out "$out/gpu-torch.json" "$@"
if "$python" -c "import vllm" 2>/dev/null; then
    timeout --signal=INT --kill-after=20 400 "$python" benchmarks/gpu.py --vllm-only --out "$out/gpu-vllm.json" "$@"
else
    echo "vLLM is not installed: the whole is left out"
fi
