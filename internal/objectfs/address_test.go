package objectfs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPrefix(t *testing.T) {
	for folder, want := range map[string]string{"": "", "/": "", "a": "a/", "/a/b/": "a/b/", "a//b": "-", "../a": "-", ".": "-", "a/./b": "-"} {
		prefix, err := Prefix(folder)
		if want == "-" {
			require.ErrorContains(t, err, "want a folder", folder)
			continue
		}
		require.NoError(t, err, folder)
		require.Equal(t, want, prefix)
	}
}

func TestAddresses(t *testing.T) {
	place, prefix, err := SplitURL("gs://pictures/train/x", "gs", "bucket")
	require.NoError(t, err)
	require.Equal(t, [2]string{"pictures", "train/x"}, [2]string{place, prefix})
	for _, bad := range []string{"gs://", "s3://pictures", "pictures"} {
		_, _, err = SplitURL(bad, "gs", "bucket")
		require.ErrorContains(t, err, "want one such as gs://bucket/folder", bad)
	}
	u, ok := ParseServer("http://localhost:9000/x/")
	require.True(t, ok)
	require.Equal(t, "http://localhost:9000/x", u.String())
	for _, bad := range []string{"", "localhost:9000", "ftp://x", "http://x?y=z", "http://"} {
		_, ok = ParseServer(bad)
		require.False(t, ok, bad)
	}
}
