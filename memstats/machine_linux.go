package memstats

import (
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
)

func systemMemory() int64 { return memoryOf(os.DirFS("/")) }

// memoryOf returns what the files of a Linux system say that this process can have; 0
// where they say nothing.
func memoryOf(root fs.FS) int64 {
	least := int64(math.MaxInt64)
	note := func(n int64, ok bool) {
		if ok && n > 0 {
			least = min(least, n)
		}
	}
	for line := range lines(root, "proc/meminfo") {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "MemTotal:" && f[2] == "kB" {
			n, ok := number(f[1])
			note(n*1024, ok && n < math.MaxInt64/1024)
		}
	}
	for line := range lines(root, "proc/self/limits") {
		if rest, ok := strings.CutPrefix(line, "Max address space"); ok {
			if f := strings.Fields(rest); len(f) == 3 {
				note(number(f[0])) // the soft limit, or "unlimited"
			}
		}
	}
	for line := range lines(root, "proc/self/cgroup") {
		// hierarchy:controllers:path; version 2 has number 0 and no controllers.
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(f) != 3:
		case f[0] == "0" && f[1] == "":
			for _, mount := range []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"} {
				groups(root, mount, f[2], "memory.max", note)
			}
		case strings.Contains(","+f[1]+",", ",memory,"):
			groups(root, "sys/fs/cgroup/memory", f[2], "memory.limit_in_bytes", note)
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

// groups notes the limits of a control group and of all those around it, of which each
// holds. In a container the path may be that of the machine, and only the outermost
// group be there, which is the container's own.
func groups(root fs.FS, mount, group, file string, note func(int64, bool)) {
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		for line := range lines(root, path.Join(mount, group, file)) {
			note(number(strings.TrimSpace(line))) // or "max"
		}
		if group == "/" {
			return
		}
	}
}

// lines ranges over the lines of a file; there are none if it cannot be read.
func lines(root fs.FS, name string) func(func(string) bool) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return func(func(string) bool) {}
	}
	return strings.Lines(string(text))
}

func number(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}
