#!/usr/bin/env bash
# `make bench`: every experiment's JSON into build/bench, then tests/bench/RESULTS.md from what is there.
# Usage: bench.sh DATA [EXPERIMENT ...]   (without experiments: all of them)
set -euo pipefail
cd "$(dirname "$0")/.."
data=$1
shift
out=build/bench
cache=build/embeddings
mkdir -p "$out" "$cache"
export OMP_NUM_THREADS=1
python=.venv/bin/python

run() {
  local file=$1 name=$2
  shift 2
  if [ "${#wanted[@]}" -gt 0 ] && [[ " ${wanted[*]} " != *" $name "* ]]; then return; fi
  echo "bench $name $*"
  "$python" -m tests.bench "$name" --json "$@" > "$out/$file.json.new" || [[ "$name" =~ ^(performance|languages)$ ]]
  mv "$out/$file.json.new" "$out/$file.json"
}

wanted=("$@")
run 1-performance performance
run 1-performance-hook hook --cache "$cache"
run 1-performance-languages languages --cache "$cache"
# MEMORY=FILE: an mcpServers file whose servers may be started
[ -z "${MEMORY:-}" ] || run 7-memory memory "$MEMORY" --yes
# HIDING=DIR: of `python -m tests.bench expansion DIR --install`
[ -z "${HIDING:-}" ] || run 7-expansion expansion "$HIDING" --yes
if [ -d "$data" ]; then
  run 2-retrieval-cold retrieval --data "$data" --cache "$cache"
  run 3-retrieval-own-log-50 retrieval --data "$data" --cache "$cache" --own-log 50 --logs 4
  run 4-retrieval-own-log-200 retrieval --data "$data" --cache "$cache" --own-log 200 --logs 4
  run 4-retrieval-leave-one-out retrieval --data "$data" --cache "$cache" --leave-one-out
  for name in requests suggest own paper haystack registry discovery apibank poison; do
    run "5-$name" "$name" --data "$data" --cache "$cache"
  done
  run 5-raw raw --data "$data" --cache "$cache"
  run 5-surfaces surfaces --data "$data" --cache "$cache"
  run 5-team team --data "$data" --cache "$cache"
  # TEAM=NUMBER of tools: half an hour and 10 GB for 1000000
  [ -z "${TEAM:-}" ] || run 5-team-scale team --data "$data" --cache "$cache" --scale "$TEAM"
  fresh=build/fresh/fresh_catalog.jsonl # by packaging/fresh_servers.py build/fresh
  own=(); [ ! -f "$fresh" ] || own=(--own "$fresh")
  run 5-scanner scanner --data "$data" --last "${own[@]}"
  # PEERS=PYTHON: of an environment with cisco-ai-mcp-scanner
  if [ -n "${PEERS:-}" ]; then
    "$python" -m tests.bench.scanner.peers "$PEERS" "$data" "${own[@]:1}" > "$out/5-scanner-peers.json"
  fi
else
  echo "No data at $data: only Toolcrib's own costs were measured."
fi
if [ "${#wanted[@]}" -eq 0 ] || [[ " ${wanted[*]} " == *" attacks "* ]]; then
  "$python" -m tests.bench.attacks > "$out/6-attacks.json.new" || echo "an attack came through"
  mv "$out/6-attacks.json.new" "$out/6-attacks.json"
fi
if [[ " ${wanted[*]} " == *" sizes "* ]]; then # fetches every package: only where it is named
  "$python" packaging/sizes.py > "$out/8-sizes.json.new"
  mv "$out/8-sizes.json.new" "$out/8-sizes.json"
fi
"$python" -m tests.bench document "$out" --out tests/bench/RESULTS.md
