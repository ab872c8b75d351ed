package memstats

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// The least of all limits holds, wherever it stands in a system's files.
func TestMemoryOfAFileTree(t *testing.T) {
	const gib = 1 << 30
	machine := "MemFree:  5 kB\nMemTotal:       16777216 kB\nSwapTotal: 99999999 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing":        {nil, 0},
		"no files of it": {map[string]string{"proc/meminfo": "MemTotal: many kB\n", "proc/self/cgroup": "a\n::\n0::\n", "proc/self/limits": "Max address space\n"}, 0},
		"the machine":    {map[string]string{"proc/meminfo": machine}, 16 * gib},
		"version 2": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/jobs/one\n",
			"sys/fs/cgroup/jobs/one/memory.max": "2147483648\n", "sys/fs/cgroup/jobs/memory.max": "max\n",
		}, 2 * gib},
		"version 2, further out": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/jobs/one\n",
			"sys/fs/cgroup/jobs/one/memory.max": "max\n", "sys/fs/cgroup/jobs/memory.max": "1073741824\n",
		}, gib},
		"version 2, a namespace": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/../../other\n", "sys/fs/cgroup/memory.max": "3221225472\n",
		}, 3 * gib},
		"version 2, more than there is": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "99999999999999\n",
		}, 16 * gib},
		"version 1": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "9:name=systemd:/\n5:cpu,memory:/a:b\n0::/\n",
			"sys/fs/cgroup/memory/a:b/memory.limit_in_bytes": "4294967296\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
		}, 4 * gib},
		"version 1, a container": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "4:memory:/docker/0123\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "5368709120\n",
		}, 5 * gib},
		"both": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "4:memory:/\n0::/x\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n", "sys/fs/cgroup/unified/x/memory.max": "1073741824",
		}, gib},
		"no memory there": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "4:cpu:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "1\n",
		}, 16 * gib},
		"address space": {map[string]string{
			"proc/meminfo":     machine,
			"proc/self/limits": "Max data size   1  1  bytes\nMax address space         8589934592           unlimited            bytes\n",
		}, 8 * gib},
		"no limit": {map[string]string{
			"proc/meminfo": machine, "proc/self/limits": "Max address space         unlimited           unlimited            bytes\n",
		}, 16 * gib},
	} {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{}
			for path, text := range c.files {
				root[path] = &fstest.MapFile{Data: []byte(text)}
			}
			require.Equal(t, c.want, memoryOf(root))
		})
	}
}
