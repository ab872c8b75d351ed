#!/bin/sh
# Builds the CUDA tests and benchmarks, and runs them on a machine with a GPU that
# has neither Go nor a network.
#   run.sh build DIR       puts test binaries and this script into DIR
#   DIR/run.sh run RESULTS writes what they print to RESULTS
# PLANKTON_FAKE=1 runs on the fake driver, which needs a C compiler.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
case "${1:-}:${2:-}" in
build:?*)
	mkdir -p "$2"
	out=$(cd "$2" && pwd)
	cd "$here/../.."
	for pkg in streams/cuda benchmarks/gpu; do
		CGO_ENABLED=0 go test -c -trimpath -ldflags='-s -w' -o "$out/$(echo $pkg | tr / -).test" "./$pkg"
	done
	cp "$here/run.sh" "$out/run.sh"
	;;
run:?*)
	mkdir -p "$2"
	results=$(cd "$2" && pwd)
	if [ -z "${PLANKTON_FAKE:-}" ]; then
		export PLANKTON_CUDA=1 # that there is no GPU is then a failure
		nvidia-smi --query-gpu=name,driver_version,memory.total,pcie.link.gen.current,pcie.link.width.current --format=csv >"$results/machine.txt" 2>&1 || true
	fi
	status=0
	cd "$here"
	# The tests of the rules, of copies and of kernels, on the GPU as on the fake.
	./streams-cuda.test -test.v >"$results/tests.txt" 2>&1 || status=1
	./benchmarks-gpu.test -test.v -test.run . >"$results/measures.txt" 2>&1 || status=1
	./benchmarks-gpu.test -test.run '^$' -test.bench . -test.benchtime "${BENCHTIME:-1s}" >"$results/benchmarks.txt" 2>&1 || status=1
	tail -n 3 "$results"/*.txt
	exit $status
	;;
*)
	echo "usage: run.sh build DIR | run RESULTS" >&2
	exit 2
	;;
esac
