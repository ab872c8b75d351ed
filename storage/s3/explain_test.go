package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/storage"
)

// roundTrip is a server that is a function.
type roundTrip func(r *http.Request) *httptest.ResponseRecorder

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := f(r).Result()
	answer.Request = r
	return answer, nil
}

func reply(status int, code string, header ...string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	for i := 0; i < len(header); i += 2 {
		w.Header().Set(header[i], header[i+1])
	}
	w.WriteHeader(status)
	if code != "" {
		_, _ = fmt.Fprintf(w, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>in the server's words</Message>", code)
		if region, ok := strings.CutPrefix(code, "AuthorizationHeaderMalformed"); ok && region == "" {
			_, _ = io.WriteString(w, "<Region>eu-west-1</Region>")
		}
		_, _ = io.WriteString(w, "</Error>")
	}
	return w
}

func hello(r *http.Request) *httptest.ResponseRecorder {
	return helloAt(r, "")
}

func helloAt(_ *http.Request, date string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Range", "bytes 0-4/5")
	w.Header().Set("ETag", `"v1"`)
	if date != "" {
		w.Header().Set("Date", date)
	}
	w.WriteHeader(http.StatusPartialContent)
	_, _ = io.WriteString(w, "hello")
	return w
}

// bare is Options whose environment is empty.
func bare(t *testing.T, o Options) Options {
	t.Helper()
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	if o.Credentials == nil && !o.Anonymous && o.Authorize == nil {
		o.Credentials = static("AKID", "secret")
	}
	return o
}

// read5 reads an object of five bytes.
func read5(t *testing.T, o Options) (string, error) {
	t.Helper()
	b, err := Open(t.Context(), o)
	require.NoError(t, err)
	defer b.Close()
	dst := make([]byte, 5)
	_, err = b.ReadRange(t.Context(), "x", 0, dst)
	return string(dst), err
}

func TestRegionOfTheBucketIsLearned(t *testing.T) {
	answers := map[string]func() *httptest.ResponseRecorder{
		"moved": func() *httptest.ResponseRecorder {
			return reply(301, "PermanentRedirect", "X-Amz-Bucket-Region", "eu-west-1")
		},
		"malformed": func() *httptest.ResponseRecorder { return reply(400, "AuthorizationHeaderMalformed") },
	}
	for name, wrong := range answers {
		t.Run(name, func(t *testing.T) {
			var asked []string
			got, err := read5(t, bare(t, Options{Bucket: "data", Region: "us-east-1", Transport: roundTrip(func(r *http.Request) *httptest.ResponseRecorder {
				asked = append(asked, r.URL.Host)
				if !strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/s3/") {
					return wrong()
				}
				return hello(r)
			})}))
			require.NoError(t, err)
			require.Equal(t, "hello", got)
			require.Equal(t, []string{"data.s3.us-east-1.amazonaws.com", "data.s3.eu-west-1.amazonaws.com"}, asked)
		})
	}
	t.Run("of a server with an address of its own", func(t *testing.T) {
		var asked []string
		_, err := read5(t, bare(t, Options{Bucket: "data", Endpoint: "http://minio:9000", Transport: roundTrip(func(r *http.Request) *httptest.ResponseRecorder {
			asked = append(asked, r.URL.String())
			if strings.Contains(r.Header.Get("Authorization"), "/us-east-1/s3/") {
				return reply(400, "AuthorizationHeaderMalformed")
			}
			return hello(r)
		})}))
		require.NoError(t, err)
		require.Equal(t, []string{"http://minio:9000/data/x", "http://minio:9000/data/x"}, asked)
	})
	t.Run("for ever", func(t *testing.T) {
		n := 0
		_, err := read5(t, bare(t, Options{Bucket: "data", Transport: roundTrip(func(*http.Request) *httptest.ResponseRecorder {
			n++
			return reply(301, "PermanentRedirect", "X-Amz-Bucket-Region", fmt.Sprint("region-", n))
		})}))
		require.ErrorContains(t, err, "answers 301 PermanentRedirect")
		require.Less(t, n, 10)
	})
}

func TestRedirects(t *testing.T) {
	for location, want := range map[string]string{
		"https://data.s3-us-west-2.amazonaws.com/x": "https://data.s3-us-west-2.amazonaws.com/x",
		"https://other:9000/data/x":                 "https://other:9000/data/x",
		"http://data.insecure.example/x":            "", // a signature is not sent there in the open
	} {
		var asked []string
		_, err := read5(t, bare(t, Options{Bucket: "data", Transport: roundTrip(func(r *http.Request) *httptest.ResponseRecorder {
			asked = append(asked, r.URL.String())
			if r.URL.String() != want {
				return reply(307, "TemporaryRedirect", "Location", location)
			}
			require.NotEmpty(t, r.Header.Get("Authorization"))
			return hello(r)
		})}))
		if want == "" {
			require.ErrorContains(t, err, "answers 307 TemporaryRedirect")
			require.Len(t, asked, 1)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, []string{"https://data.s3.us-east-1.amazonaws.com/x", want}, asked)
	}
}

func TestClocksThatDiffer(t *testing.T) {
	ahead := 3 * time.Hour
	server := func(honest bool) roundTrip {
		return func(r *http.Request) *httptest.ResponseRecorder {
			now := time.Now().Add(ahead).UTC()
			at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
			require.NoError(t, err)
			if !honest {
				return reply(403, "RequestTimeTooSkewed", "Date", time.Now().UTC().Format(http.TimeFormat))
			}
			if now.Sub(at).Abs() > 15*time.Minute {
				return reply(403, "RequestTimeTooSkewed", "Date", now.Format(http.TimeFormat))
			}
			return hello(r)
		}
	}
	got, err := read5(t, bare(t, Options{Bucket: "data", Transport: server(true)}))
	require.NoError(t, err)
	require.Equal(t, "hello", got)
	_, err = read5(t, bare(t, Options{Bucket: "data", Transport: server(false)}))
	require.ErrorIs(t, err, storage.ErrUnavailable)
	require.ErrorContains(t, err, "set this machine's clock, or the server's")
}

// Errors are one line that names the object and what to set.
func TestErrorsSayWhatToDo(t *testing.T) {
	tests := []struct {
		status      int
		code, want  string
		away        bool
		is          error
		anonymously bool
	}{
		{status: 403, code: "InvalidAccessKeyId", away: true, want: "the server does not know the access key AKID (from the test) at s3.example.org; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
		{status: 403, code: "SignatureDoesNotMatch", away: true, want: "the secret key is not that of the access key AKID (from the test) at s3.example.org; set AWS_SECRET_ACCESS_KEY"},
		{status: 400, code: "ExpiredToken", away: true, want: "the session token is no longer valid AKID"},
		{status: 403, code: "AccessDenied", is: fs.ErrPermission, want: "s3.example.org refuses the access key AKID (from the test) (AccessDenied); let it read and list the bucket"},
		{status: 403, code: "AccessDenied", is: fs.ErrPermission, anonymously: true, want: "refuses the request, which had no signature"},
		{status: 403, is: fs.ErrPermission, want: "(403 Forbidden)"},
		{status: 404, code: "NoSuchBucket", away: true, want: "there is no bucket data at https://s3.example.org; correct the name, or set AWS_ENDPOINT_URL"},
		{status: 404, code: "NoSuchKey", is: fs.ErrNotExist, want: "file does not exist: the bucket has no such object"},
		{status: 403, code: "InvalidObjectState", want: "the object is archived; restore it"},
		{status: 418, code: "Teapot", want: "s3.example.org answers 418 Teapot: in the server's words"},
		{status: 418, want: "s3.example.org answers 418 I'm a teapot"},
		{status: 503, code: "SlowDown", away: true, want: "s3.example.org answers 503 SlowDown: in the server's words (1 try in 0s)"},
	}
	for _, tt := range tests {
		o := Options{Bucket: "data", Prefix: "train", Endpoint: "https://s3.example.org", Anonymous: tt.anonymously, Network: storage.Network{RetryFor: -1}}
		o.Transport = roundTrip(func(*http.Request) *httptest.ResponseRecorder { return reply(tt.status, tt.code) })
		_, err := read5(t, bare(t, o))
		require.ErrorContains(t, err, "s3://data/train/x: ", tt.code)
		require.ErrorContains(t, err, tt.want)
		require.NotContains(t, err.Error(), "secret!")
		require.NotContains(t, err.Error(), "\n")
		require.Equal(t, tt.away, errors.Is(err, storage.ErrUnavailable), "%s: %v", tt.code, err)
		if tt.is != nil {
			require.ErrorIs(t, err, tt.is)
		}
	}
}

func TestExpiredCredentialsAreFetchedAnew(t *testing.T) {
	n := 0
	o := Options{Bucket: "data", Credentials: func(context.Context) (Credentials, error) {
		n++
		return Credentials{AccessKeyID: fmt.Sprint("K", n), SecretAccessKey: "s", SessionToken: "t", Expires: time.Now().Add(time.Hour)}, nil
	}}
	o.Transport = roundTrip(func(r *http.Request) *httptest.ResponseRecorder {
		if strings.Contains(r.Header.Get("Authorization"), "Credential=K1/") {
			return reply(400, "ExpiredToken")
		}
		return hello(r)
	})
	_, err := read5(t, bare(t, o))
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

func TestOptionsAreChecked(t *testing.T) {
	key := static("a", "b")
	for want, o := range map[string]Options{
		`Bucket is ""`:        {},
		`Bucket is "a/b"`:     {Bucket: "a/b"},
		`Prefix is "a/../b"`:  {Bucket: "a", Prefix: "a/../b"},
		"ways to sign":        {Bucket: "a", Anonymous: true, Credentials: key},
		"the endpoint is \"x": {Bucket: "a", Endpoint: "x:9000"},
		"InFlight is -1":      {Bucket: "a", Network: storage.Network{InFlight: -1}},
	} {
		_, err := Open(t.Context(), o)
		require.ErrorContains(t, err, want)
	}
	for _, s := range []string{"bucket", "s3://", "s3:///x", "gs://bucket"} {
		_, _, err := ParseURL(s)
		require.ErrorContains(t, err, "is no address of a bucket", s)
	}
	bucket, prefix, err := ParseURL("s3://bucket/a/b")
	require.NoError(t, err)
	require.Equal(t, "bucket a/b", bucket+" "+prefix)
}

func TestAuthorizeAndHeader(t *testing.T) {
	var got http.Header
	var at *url.URL
	_, err := read5(t, bare(t, Options{
		Bucket: "data.with.dots", Header: http.Header{"x-amz-request-payer": {"requester"}},
		Authorize: func(r *http.Request) error { r.Header.Set("Authorization", "Bearer x"); return nil },
		Transport: roundTrip(func(r *http.Request) *httptest.ResponseRecorder { got, at = r.Header, r.URL; return hello(r) }),
	}))
	require.NoError(t, err)
	require.Equal(t, "Bearer x", got.Get("Authorization"))
	require.Equal(t, "requester", got.Get("X-Amz-Request-Payer"))
	require.Empty(t, got.Get("X-Amz-Date"))
	require.Equal(t, "https://s3.us-east-1.amazonaws.com/data.with.dots/x", at.String())
}
