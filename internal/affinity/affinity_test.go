package affinity

import (
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	got, err := Parse("3,5, 6,10")
	require.NoError(t, err)
	require.Equal(t, []int{3, 5, 6, 10}, got)
	for _, bad := range []string{"", ",", "1,,2", "3x", "-1", "1;2", "0x1"} {
		_, err := Parse(bad)
		require.ErrorContains(t, err, "is no CPU number", bad)
	}
}

// The example of DALI's documentation: five threads, DALI_AFFINITY_MASK=3,5,6,10.
func TestAssign(t *testing.T) {
	near := []int{0, 1, 2, 3}
	require.Equal(t, [][]int{{3}, {5}, {6}, {10}, {0, 1, 2, 3}}, Assign(5, []int{3, 5, 6, 10}, near))
	require.Equal(t, [][]int{{3}}, Assign(1, []int{3, 5}, near))
	require.Equal(t, [][]int{near, near}, Assign(2, nil, near))
}

func TestCheck(t *testing.T) {
	require.NoError(t, Check([]int{1, 3}, []int{0, 1, 2, 3}))
	require.EqualError(t, Check([]int{1, 9, 7}, []int{0, 1, 2, 3, 8}),
		"CPUs [9 7] of the affinity mask are offline, missing or not allowed to this process; it may run on 0-3,8")
}

func TestFormat(t *testing.T) {
	for want, cpus := range map[string][]int{"": nil, "4": {4}, "0-2": {2, 0, 1, 1}, "0,2-3,7": {7, 3, 2, 0}} {
		require.Equal(t, want, Format(cpus))
		got, err := ParseList(want)
		require.NoError(t, err)
		require.Equal(t, slices.Compact(slices.Sorted(slices.Values(cpus))), got)
	}
	for _, bad := range []string{",", "1,,2", "3-1", "-1", "1-", "x", "70000"} {
		_, err := ParseList(bad)
		require.ErrorContains(t, err, "is no list of CPUs", bad)
	}
}

func TestTheKernelKeepsTheMask(t *testing.T) {
	allowed, err := Allowed()
	if runtime.GOOS != "linux" {
		require.ErrorIs(t, err, ErrUnsupported)
		_, err = Get()
		require.ErrorIs(t, err, ErrUnsupported)
		_, err = Pin([]int{0})
		require.ErrorIs(t, err, ErrUnsupported)
		return
	}
	require.NoError(t, err)
	require.NotEmpty(t, allowed)
	before, err := Get()
	require.NoError(t, err)
	for _, cpu := range allowed {
		unpin, err := Pin([]int{cpu})
		require.NoError(t, err)
		got, err := Get()
		require.NoError(t, err)
		require.Equal(t, []int{cpu}, got)
		unpin()
		got, err = Get()
		require.NoError(t, err)
		require.Equal(t, before, got)
	}
	_, err = Pin([]int{1 << 20})
	require.ErrorContains(t, err, "at most 1024")
	_, err = Pin(nil)
	require.ErrorContains(t, err, "sched_setaffinity")
}
