#!/usr/bin/env bash
# The core of the study with the real pocket policy on vLLM: five arms, three seeds; 15 runs of 7,544 episodes.
# About twenty minutes on two cores that are left alone. Stopped anywhere, the same line goes on.
#   docs/study/pocket/run.sh [FOLDER]     (default: studies/pocket)
set -eu
folder=${1:-studies/pocket}
aes study "$folder" --pairs 8 --goals 16 --updates 24 --lr 0.5 --eval-every 4 --eval-goals 200 \
  --natural 1,4 --lags 4,8 --fracs 1 --no-stress --seeds 3
aes report "$folder" --to "$(dirname "$0")/report.html"
