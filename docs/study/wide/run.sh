#!/usr/bin/env bash
# The wide study: the fake engine's policy on WebShop, the whole grid with both estimators, twenty seeds; 760 runs.
# A quarter of an hour on one core that is left alone. Stopped anywhere, the same line goes on.
#   docs/study/wide/run.sh [FOLDER]     (default: studies/wide)
set -eu
folder=${1:-studies/wide}
aes study "$folder" --engine fake --products 100 --pairs 4 --goals 1 --updates 24 --lr 0.5 \
  --eval-every 6 --eval-goals 24 --natural 1,4 --lags 1,2,4,8 --fracs 0.25,0.5,1 --stress \
  --estimators pairs,zscore --on-stale wait,drop --seeds 20
aes report "$folder" --to "$(dirname "$0")/report.html"
