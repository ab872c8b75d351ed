package gcs

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/storage"
)

// seen answers every request with the same five bytes and keeps the last one.
type seen struct{ r *http.Request }

func (s *seen) RoundTrip(r *http.Request) (*http.Response, error) {
	s.r = r
	return &http.Response{
		StatusCode: http.StatusPartialContent, Request: r, ContentLength: 5,
		Header: http.Header{"Content-Range": {"bytes 0-4/5"}, "Etag": {`"x"`}}, Body: io.NopCloser(strings.NewReader("hello")),
	}, nil
}

func clean(t *testing.T) {
	t.Helper()
	for _, name := range []string{"STORAGE_EMULATOR_HOST", "GCS_ACCESS_KEY_ID", "GCS_SECRET_ACCESS_KEY", "GCS_TOKEN", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
}

func read(t *testing.T, o Options) (*http.Request, error) {
	t.Helper()
	s := &seen{}
	o.Bucket, o.Prefix, o.Transport = "data", "train", s
	b, err := Open(t.Context(), o)
	require.NoError(t, err)
	err = storage.ReadRange(t.Context(), b, "a b", 0, make([]byte, 5))
	return s.r, err
}

func TestWaysToAsk(t *testing.T) {
	clean(t)
	r, err := read(t, Options{AccessKeyID: "GOOG1", SecretAccessKey: "s"})
	require.NoError(t, err)
	require.Equal(t, "https://storage.googleapis.com/data/train/a%20b", r.URL.String())
	require.Contains(t, r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=GOOG1/")
	require.Contains(t, r.Header.Get("Authorization"), "/auto/s3/aws4_request")
	require.Equal(t, "gzip", r.Header.Get("Accept-Encoding"))

	r, err = read(t, Options{Token: func(context.Context) (string, error) { return "tok\n", nil }})
	require.NoError(t, err)
	require.Equal(t, "Bearer tok", r.Header.Get("Authorization"))
	require.Empty(t, r.Header.Get("X-Amz-Date"))

	r, err = read(t, Options{Anonymous: true})
	require.NoError(t, err)
	require.Empty(t, r.Header.Get("Authorization"))

	_, err = read(t, Options{Token: func(context.Context) (string, error) { return "", errors.New("not logged in") }})
	require.ErrorIs(t, err, storage.ErrUnavailable)
	require.ErrorContains(t, err, "gs://data/train/a b: no token: not logged in")

	t.Setenv("GCS_TOKEN", "env")
	r, err = read(t, Options{})
	require.NoError(t, err)
	require.Equal(t, "Bearer env", r.Header.Get("Authorization"))
	t.Setenv("GCS_ACCESS_KEY_ID", "GOOG2")
	t.Setenv("GCS_SECRET_ACCESS_KEY", "s")
	r, err = read(t, Options{})
	require.NoError(t, err)
	require.Contains(t, r.Header.Get("Authorization"), "Credential=GOOG2/")
}

func TestRefusals(t *testing.T) {
	clean(t)
	token := func(context.Context) (string, error) { return "", nil }
	for want, o := range map[string]Options{
		"gcs: no credentials":      {Bucket: "b"},
		"give one of them":         {Bucket: "b", Token: token, Anonymous: true},
		"an HMAC key of two parts": {Bucket: "b", AccessKeyID: "x"},
		`gcs: s3: Bucket is ""`:    {Anonymous: true},
	} {
		_, err := Open(t.Context(), o)
		require.ErrorContains(t, err, want)
	}
	_, _, err := ParseURL("s3://b")
	require.ErrorContains(t, err, "gs://bucket/folder")
	b, p, err := ParseURL("gs://b/p/q")
	require.NoError(t, err)
	require.Equal(t, "b p/q", b+" "+p)
}
