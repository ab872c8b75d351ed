#!/bin/sh
# Builds the CUDA tests and benchmarks, and runs them on a machine with a GPU that
# has neither Go nor a network.
#   run.sh build DIR                 puts binaries and this script into DIR
#   DIR/run.sh run RESULTS [STEP]... runs all steps, or these, and writes what comes of
#                                    them to RESULTS: summary.txt, with one verdict for
#                                    every line of a table, is what to read first
# Where CGO_CFLAGS names CUDA's headers, as in .ci/cuda, there is a step with Gorgonia
# itself. The steps are, most wanted first: questions, measurements, gorgonia, streams,
# nvjpeg, operators, cudnn, benchmarks. Each may take LIMIT seconds (default 200), so that all
# are over in half an hour, and leaves its results whatever becomes of the others.
# Libraries beside the driver, cuBLAS, cuDNN 8 and nvJPEG, are looked for everywhere. The
# exit status is 1 where a step or a line of the table failed.
#
# PLANKTON_FAKE=1 runs on the fake driver, which needs a C compiler. What only a GPU can
# answer is then not run.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

build() {
	mkdir -p "$1"
	out=$(cd "$1" && pwd)
	cd "$here/../.."
	for pkg in streams/cuda streams/cuda/nvjpeg pipeline/ops benchmarks/gpu; do
		CGO_ENABLED=0 go test -c -trimpath -ldflags='-s -w' -o "$out/$(echo $pkg | tr / -).test" "./$pkg"
	done
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o "$out/table" ./benchmarks/gpu/table
	if [ -n "${CGO_CFLAGS:-}" ]; then
		# It is linked to the fakes, and finds the real libraries by their names there.
		# Where there is no cuDNN 8, the fake of it stays: nothing convolves by it then.
		streams/cuda/fakedriver/libs/build "$out/fake"
		CGO_LDFLAGS=${CGO_LDFLAGS:--L$out/fake} go test -c -ldflags='-s -w' -tags cuda -o "$out/gorgoniaplugin.test" ./gorgoniaplugin
		mkdir -p "$out/lib"
		mv "$out/fake/libcudnn.so" "$out/lib/"
	else
		echo "the step gorgonia is left out: CGO_CFLAGS does not name CUDA's headers"
	fi
	cp "$here/run.sh" "$out/run.sh"
}

# prepare notes what the machine is, and has the loader find its libraries.
prepare() {
	LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	if [ -n "${PLANKTON_FAKE:-}" ]; then
		LD_LIBRARY_PATH=$here/fake:$LD_LIBRARY_PATH
		echo "the fake driver" >"$results/machine.txt"
	else
		export PLANKTON_CUDA=1 # that there is no GPU is then a failure
		timeout 60 find / \( -path /proc -o -path /sys \) -prune -o \( -name 'libcublas.so.1[0-9]' -o -name 'libnvjpeg.so.1[0-9]' -o -name libcudnn.so.8 \) -print 2>/dev/null |
			sort >"$results/libraries" || true
		mkdir -p "$results/lib"
		for name in libcublas libcudnn; do # the names that Gorgonia's step is linked to
			library=$(grep -m 1 "/$name" "$results/libraries" || true)
			if [ -n "$library" ]; then ln -sf "$library" "$results/lib/$name.so"; fi
		done
		LD_LIBRARY_PATH=$results/lib:$LD_LIBRARY_PATH:$(sed 's,/[^/]*$,,' "$results/libraries" | uniq | paste -s -d :)
		{
			uname -a
			nproc
			timeout 60 nvidia-smi --query-gpu=name,driver_version,memory.total,pcie.link.gen.current,pcie.link.width.current --format=csv
			cat "$results/libraries"
		} >"$results/machine.txt" 2>&1 || true
		rm -f "$results/libraries"
	fi
	export LD_LIBRARY_PATH PLANKTON_RESULTS="$results"
}

# step NAME BINARY ARGUMENT...
step() {
	name=$1 binary=$here/$2.test
	shift 2
	case " $wanted " in *" $name "* | "  ") ;; *) return 0 ;; esac
	if [ ! -x "$binary" ]; then
		echo "not built" >"$results/$name.outcome"
		summarise
		return 0
	fi
	echo "running $name"
	began=$(date +%s)
	if timeout -s QUIT -k 10 "$limit" "$binary" "$@" >"$results/$name.log" 2>&1; then outcome=passed; else outcome="FAILED, status $?" status=1; fi
	echo "$outcome, $(($(date +%s) - began)) s" >"$results/$name.outcome"
	summarise
}

# summarise writes the table of what is known so far.
summarise() {
	"$here/table" "$results" >"$results/summary" || status=1
	mv "$results/summary" "$results/summary.txt"
}

case "${1:-}:${2:-}" in
build:?*) build "$2" ;;
run:?*)
	mkdir -p "$2"
	results=$(cd "$2" && pwd)
	shift 2
	wanted=$* limit=${LIMIT:-200} status=0 gorgonia=OnAGPU
	rm -f "$results/summary.txt"
	if [ -z "$wanted" ]; then rm -f "$results/lines.json" "$results"/*.outcome; fi # of a run before
	prepare
	if [ -n "${PLANKTON_FAKE:-}" ]; then gorgonia=; fi # the other tests need the fake
	questions='^Test(EntryPoints|PTX|EventOrder|Contexts|Synchronize)$'
	step questions benchmarks-gpu -test.v -test.run "$questions"
	step measurements benchmarks-gpu -test.v -test.run . -test.skip "$questions"
	step gorgonia gorgoniaplugin -test.v -test.run "$gorgonia" -test.skip ByDNN
	step streams streams-cuda -test.v
	step nvjpeg streams-cuda-nvjpeg -test.v
	step operators pipeline-ops -test.v -test.run Device # the others are not about GPUs
	step cudnn gorgoniaplugin -test.v -test.run "ByDNN.*$gorgonia"
	step benchmarks benchmarks-gpu -test.run '^$' -test.bench . -test.benchtime "${BENCHTIME:-1s}"
	cat "$results/summary.txt"
	exit $status
	;;
*)
	echo "usage: run.sh build DIR | run RESULTS [STEP]..." >&2
	exit 2
	;;
esac
