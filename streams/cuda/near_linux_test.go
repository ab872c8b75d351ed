package cuda

import (
	"testing"
	"testing/fstest"

	"github.com/planktonml/plankton/streams/cuda/fakedriver"
	"github.com/stretchr/testify/require"
)

func TestNearCPUs(t *testing.T) {
	const pci = "0000:3b:00.0"
	for _, c := range []struct {
		pci, list string
		want      []int
		text      string
	}{
		{pci, "0-3,8\n", []int{0, 1, 2, 3, 8}, ""},
		{pci, "5\n", []int{5}, ""},
		{pci, "\n", nil, ""},
		{"0000:af:00.0", "0-3", nil, ""},
		{"", "0-3", nil, ""},
		{pci, "0-", nil, `/sys/bus/pci/devices/0000:3b:00.0/local_cpulist: "0-" is no list of CPUs`},
		{pci, "3-1", nil, "is no list"},
		{pci, "-1", nil, "is no list"},
		{pci, "0-99999999999", nil, "is no list"},
		{pci, "0-999999", nil, "is no list"},
	} {
		sys := fstest.MapFS{"bus/pci/devices/" + pci + "/local_cpulist": {Data: []byte(c.list)}}
		cpus, err := nearCPUs(sys, c.pci)
		if c.text != "" {
			require.ErrorContains(t, err, c.text)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, cpus, c.list)
	}
}

func TestPCIAddress(t *testing.T) {
	drv := fakedriver.Open(t)
	d, err := OpenWith(0, Options{Library: drv.Library})
	require.NoError(t, err)
	require.Equal(t, "0000:3b:00.0", d.Info().PCI, "in the letters of sysfs")
	_, err = d.NearCPUs()
	require.NoError(t, err)
	require.NoError(t, d.Close())

	drv.Fail("cuDeviceGetPCIBusId", 801, 0)
	d, err = OpenWith(0, Options{Library: drv.Library})
	require.NoError(t, err)
	require.Empty(t, d.Info().PCI)
	cpus, err := d.NearCPUs()
	require.NoError(t, err)
	require.Empty(t, cpus)
	require.NoError(t, d.Close())
}
