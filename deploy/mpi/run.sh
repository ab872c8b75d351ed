#!/bin/bash
# Workers of plankton started by mpirun, one on each of some hosts, beside a training program on
# this one:
#
#   HOSTS=node1,node2 run.sh --workload train --data /data --epochs 3
#
# Mpirun only starts the workers; nothing is sent by MPI. PLANKTON_TOKEN names a file with a token
# that all hosts can read, and PLANKTON_PORT (8470) the port.
set -euo pipefail
: "${HOSTS:?host names with a comma between them}"
: "${PLANKTON_TOKEN:?it must name a file with a token that training program and workers share}"
port=${PLANKTON_PORT:-8470}

mpirun --host "$HOSTS" --map-by ppr:1:node --bind-to none \
	plankton serve "$@" --token-file "$PLANKTON_TOKEN" --plain-text --listen "0.0.0.0:$port" >&2 &
workers=$!
trap 'kill "$workers" 2>/dev/null; wait "$workers" || true' EXIT # mpirun passes SIGTERM on

urls=$(sed 's/[^,]*/http:\/\/&:'"$port"'/g' <<<"$HOSTS")
plankton bench "$@" --remote "$urls" --plain-text --token-file "$PLANKTON_TOKEN"
