package anydata

import (
	"archive/tar"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/dataset"
	"github.com/planktonml/plankton/internal/s3test"
)

// shard is a tar of some samples.
func shard(t *testing.T, first, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := first; i < first+n; i++ {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: fmt.Sprintf("%04d.jpg", i), Size: 4, Mode: 0o644}))
		_, err := fmt.Fprintf(w, "%04d", i)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestBucketOfShards(t *testing.T) {
	g := s3test.Start(t)
	g.Put(t, "data", "train/a-0.tar", shard(t, 0, 3))
	g.Put(t, "data", "train/a-1.tar", shard(t, 3, 2))
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": g.URL, "AWS_ACCESS_KEY_ID": s3test.AccessKey, "AWS_SECRET_ACCESS_KEY": s3test.SecretKey, "AWS_REGION": s3test.Region, "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": filepath.Join(t.TempDir(), "none"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(t.TempDir(), "none"),
	} {
		t.Setenv(name, value)
	}
	d, err := Open(t.Context(), "s3://data/train", dataset.Options{})
	require.NoError(t, err)
	require.Equal(t, "tar", d.Format)
	require.Equal(t, []string{"a-0.tar", "a-1.tar"}, d.Shards)
	require.EqualValues(t, 5, d.Index.Len())

	_, err = Open(t.Context(), "s3://data/none", dataset.Options{})
	require.ErrorContains(t, err, `s3://data/none/: file does not exist: no object's key begins with "none/"`)
	_, err = Open(t.Context(), "s3://", dataset.Options{})
	require.ErrorContains(t, err, "want one such as s3://bucket/folder")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	_, err = Open(t.Context(), "s3://data/train", dataset.Options{})
	require.ErrorContains(t, err, "one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set; set both")
}

func TestShardsOnTheWeb(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a-0.tar"), shard(t, 0, 3), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a-1.tar"), shard(t, 3, 2), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "list.txt"), []byte("a-1.tar\na-0.tar\n"), 0o600))
	s := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer s.Close()
	d, err := Open(t.Context(), s.URL+"/a-0.tar", dataset.Options{})
	require.NoError(t, err)
	require.EqualValues(t, 3, d.Index.Len())
	d, err = Open(t.Context(), s.URL+"/list.txt", dataset.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"a-0.tar", "a-1.tar"}, d.Shards, "in the order of their names")
	require.EqualValues(t, 5, d.Index.Len())
	_, err = Open(t.Context(), "gopher://x", dataset.Options{})
	require.ErrorContains(t, err, `there is no scheme "gopher"; give a folder, or az://…, or gs://…, or http://…, or https://…, or s3://…`)
}
