#!/bin/sh
# Builds the CUDA tests and benchmarks, and runs them on a machine with a GPU that
# has neither Go nor a network.
#   run.sh build DIR       puts test binaries and this script into DIR
#   DIR/run.sh run RESULTS runs every test binary in DIR and writes what comes of it
#                          to RESULTS: verdicts.txt is the summary
# PLANKTON_FAKE=1 runs on the fake driver, which needs a C compiler. Other test
# binaries that lie in DIR are run likewise, such as one of gorgoniaplugin with the
# tag cuda, which takes CUDA's headers to build. A binary may take 8 minutes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
case "${1:-}:${2:-}" in
build:?*)
	mkdir -p "$2"
	out=$(cd "$2" && pwd)
	cd "$here/../.."
	for pkg in streams/cuda streams/cuda/nvjpeg pipeline/ops benchmarks/gpu; do
		CGO_ENABLED=0 go test -c -trimpath -ldflags='-s -w' -o "$out/$(echo $pkg | tr / -).test" "./$pkg"
	done
	cp "$here/run.sh" "$out/run.sh"
	;;
run:?*)
	mkdir -p "$2"
	results=$(cd "$2" && pwd)
	export PLANKTON_RESULTS="$results"
	if [ -z "${PLANKTON_FAKE:-}" ]; then
		export PLANKTON_CUDA=1 # that there is no GPU is then a failure
		nvidia-smi --query-gpu=name,driver_version,memory.total,pcie.link.gen.current,pcie.link.width.current --format=csv >"$results/machine.txt" 2>&1 || true
	fi
	status=0
	rm -f "$results/verdicts.txt"
	for binary in "$here"/*.test; do
		name=$(basename "$binary" .test)
		only=.
		if [ "$name" = pipeline-ops ]; then only=Device; fi # the others are not about GPUs
		echo "running $name"
		"$binary" -test.v -test.run "$only" -test.timeout 8m >"$results/$name.txt" 2>&1 || { status=1; echo "$name failed"; }
	done
	echo "running benchmarks"
	"$here/benchmarks-gpu.test" -test.run '^$' -test.bench . -test.benchtime "${BENCHTIME:-1s}" >"$results/benchmarks.txt" 2>&1 || { status=1; echo "benchmarks failed"; }
	grep -h -E '^(verdict|question|overlap|upload|images|resize|crop_mirror|memory|--- FAIL|FAIL)' "$results"/*.txt >"$results/verdicts" || true
	mv "$results/verdicts" "$results/verdicts.txt"
	cat "$results/verdicts.txt"
	exit $status
	;;
*)
	echo "usage: run.sh build DIR | run RESULTS" >&2
	exit 2
	;;
esac
