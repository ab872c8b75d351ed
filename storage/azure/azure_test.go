package azure

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/planktonml/plankton/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is a blob service of one container, data, that lists two names at a time. Its
// handlers run beside the test, also after the test has its answer (what a client did not
// wait for is still served), so all that a test may change goes through set.
type service struct {
	*httptest.Server
	blobs map[string]string // never changed

	mu    sync.Mutex
	etag  string
	fails func(w http.ResponseWriter)
}

// set makes later requests find another tag, or fail; fails may be nil.
func (s *service) set(etag string, fails func(w http.ResponseWriter)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.etag, s.fails = etag, fails
}

func (s *service) state() (etag string, fails func(w http.ResponseWriter)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.etag, s.fails
}

func newService(t *testing.T, blobs map[string]string) *service {
	t.Helper()
	s := &service{blobs: blobs, etag: "0x1"}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		etag, fails := s.state()
		path, ok := strings.CutPrefix(r.URL.Path, "/account/data")
		switch {
		case fails != nil:
			fails(w)
		case !ok:
			s.error(w, 404, "ContainerNotFound")
		case query.Get("sig") != "a+b/c=" && r.Header.Get("Authorization") == "":
			s.error(w, 403, "AuthenticationFailed")
		case r.Header.Get("X-Ms-Version") == "":
			s.error(w, 400, "InvalidHeaderValue")
		case path == "" && query.Get("comp") == "list":
			s.list(w, query, etag)
		default:
			text, ok := s.blobs[path[1:]]
			if !ok {
				s.error(w, 404, "BlobNotFound")
				return
			}
			w.Header().Set("ETag", `"`+etag+`"`)
			http.ServeContent(w, r, "", time.Unix(1_700_000_000, 0), strings.NewReader(text))
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *service) error(w http.ResponseWriter, status int, code string) {
	w.Header().Set("X-Ms-Error-Code", code)
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "\uFEFF<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>words</Message></Error>", code)
}

func (s *service) list(w io.Writer, query url.Values, etag string) {
	prefix, delimiter := query.Get("prefix"), query.Get("delimiter")
	var entries []string
	for name := range s.blobs {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		if i := strings.Index(rest, "/"); delimiter != "" && i >= 0 {
			name = prefix + rest[:i+1]
		}
		if !slices.Contains(entries, name) {
			entries = append(entries, name)
		}
	}
	slices.Sort(entries)
	for len(entries) > 0 && entries[0] < query.Get("marker") {
		entries = entries[1:]
	}
	next := ""
	if len(entries) > 2 {
		next, entries = entries[2], entries[:2]
	}
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs>`)
	for _, name := range entries {
		var text bytes.Buffer
		_ = xml.EscapeText(&text, []byte(name))
		if blob, ok := s.blobs[name]; !ok {
			fmt.Fprintf(&b, "<BlobPrefix><Name>%s</Name></BlobPrefix>", &text)
		} else {
			encoded := ""
			if strings.Contains(name, "\ufffe") {
				encoded = ` Encoded="true"`
				text.Reset()
				text.WriteString(url.PathEscape(name))
			}
			fmt.Fprintf(&b, "<Blob><Name%s>%s</Name><Properties><Last-Modified>%s</Last-Modified><Etag>%s</Etag><Content-Length>%d</Content-Length></Properties></Blob>",
				encoded, &text, time.Unix(1_700_000_000, 0).UTC().Format(http.TimeFormat), etag, len(blob))
		}
	}
	fmt.Fprintf(&b, "</Blobs><NextMarker>%s</NextMarker></EnumerationResults>", next)
	_, _ = io.WriteString(w, b.String())
}

func open(t *testing.T, o Options) *Container {
	t.Helper()
	c, err := Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func TestFileSystem(t *testing.T) {
	names := []string{"a/1", "a/2 &<", "a/3", "b/c/d+%é", "e", "f\ufffeg"}
	blobs := map[string]string{"other": "x", "roots": "y"}
	for _, name := range names {
		blobs["root/"+name] = "content of " + name
	}
	s := newService(t, blobs)
	o := Options{Container: "data", Prefix: "root", Endpoint: s.URL + "/account/", SAS: "?sv=1&sig=a%2Bb%2Fc%3D"}
	require.NoError(t, fstest.TestFS(open(t, o), names...))
	c := open(t, o)
	dst := make([]byte, 7)
	require.NoError(t, storage.ReadRange(t.Context(), c, "b/c/d+%é", 0, dst), "without a list")
	require.Equal(t, "content", string(dst))
	s.set("0x2", nil)
	var changed *storage.ChangedError
	require.ErrorAs(t, storage.ReadRange(t.Context(), c, "b/c/d+%é", 0, dst), &changed)
	require.Equal(t, "az://data/root/b/c/d+%é", changed.Name)
	_, err := c.Stat("none")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorIs(t, storage.ReadRange(t.Context(), c, "none", 0, dst), fs.ErrNotExist)
	o.Prefix = "nowhere"
	_, err = open(t, o).ReadDir(".")
	require.ErrorContains(t, err, `no blob's name begins with "nowhere/"`)
}

func TestErrorsSayWhatToDo(t *testing.T) {
	s := newService(t, map[string]string{"x": "hello"})
	fails := func(o Options, is error, want string) {
		t.Helper()
		o.Network.RetryFor = -1
		if o.Endpoint == "" {
			o.Endpoint = s.URL + "/account"
		}
		_, err := open(t, o).ReadDir(".")
		require.ErrorIs(t, err, is)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "nonsense", "a signature is a secret")
	}
	fails(Options{Container: "data", SAS: "sig=nonsense"}, storage.ErrUnavailable, "does not know who asks (AuthenticationFailed); set AZURE_STORAGE_SAS_TOKEN")
	fails(Options{Container: "none", SAS: "sig=nonsense"}, storage.ErrUnavailable, "there is no container none at 127.0.0.1:")
	fails(Options{Container: "data", Token: func(context.Context) (string, error) { return "", errors.New("not logged in") }}, storage.ErrUnavailable, "no token: not logged in")
	s.set("0x1", func(w http.ResponseWriter) { s.error(w, 403, "AuthorizationPermissionMismatch") })
	fails(Options{Container: "data", SAS: "sig=nonsense"}, fs.ErrPermission, "answers 403 AuthorizationPermissionMismatch; give a signature with the permissions to read and to list")
	s.set("0x1", func(w http.ResponseWriter) { s.error(w, 503, "ServerBusy") })
	fails(Options{Container: "data", SAS: "sig=nonsense"}, storage.ErrUnavailable, "answers 503 ServerBusy")

	for _, name := range []string{"AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_SAS_TOKEN"} {
		t.Setenv(name, "")
	}
	for want, o := range map[string]Options{
		`Container is ""`: {}, "no credentials: give a SAS": {Container: "a"}, "give one of them": {Container: "a", SAS: "x", Anonymous: true},
		`the account is ""`: {Container: "a", SAS: "x"}, `Endpoint is "x"`: {Container: "a", SAS: "x", Endpoint: "x"},
		"Prefix is": {Container: "a", SAS: "x", Prefix: "a//b"},
	} {
		_, err := Open(t.Context(), o)
		require.ErrorContains(t, err, want)
	}
}

// TestAzurite runs against Microsoft's emulator, whose address PLANKTON_AZURITE is:
//
//	npx azurite-blob --inMemoryPersistence & PLANKTON_AZURITE=http://127.0.0.1:10000 go test ./storage/azure
func TestAzurite(t *testing.T) {
	address := os.Getenv("PLANKTON_AZURITE")
	if address == "" {
		t.Skip("PLANKTON_AZURITE is not set: it is the address of an Azurite, as in http://127.0.0.1:10000")
	}
	const account = "devstoreaccount1"
	sas := accountSAS(account)
	container := fmt.Sprint("data", time.Now().UnixNano())
	put := func(path, query string, body string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, address+"/"+account+"/"+container+path+"?"+query+sas, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("X-Ms-Blob-Type", "BlockBlob")
		r.Header.Set("X-Ms-Version", apiVersion)
		r.Close = true
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		text, _ := io.ReadAll(answer.Body)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusCreated, answer.StatusCode, "%s", text)
	}
	put("", "restype=container&", "")
	names := []string{"a/1", "a/2 of 3", "b/c/d", "e", "é+"}
	for _, name := range names {
		put("/"+(&url.URL{Path: name}).EscapedPath(), "", "content of "+name)
	}
	o := Options{Container: container, Endpoint: address + "/" + account, SAS: sas}
	require.NoError(t, fstest.TestFS(open(t, o), names...))
	c := open(t, o)
	_, err := c.ReadDir(".")
	require.NoError(t, err)
	put("/e", "", "changed")
	require.ErrorAs(t, storage.ReadRange(t.Context(), c, "e", 0, make([]byte, 3)), new(*storage.ChangedError))
	o.SAS = strings.Replace(sas, "sig=", "sig=x", 1)
	_, err = open(t, o).ReadDir(".")
	require.ErrorIs(t, err, fs.ErrPermission)
	o.SAS, o.Container = sas, "none"
	_, err = open(t, o).ReadDir(".")
	require.ErrorContains(t, err, "there is no container none")
}

// accountSAS signs with the emulator's key, which is known to all:
// https://learn.microsoft.com/rest/api/storageservices/create-account-sas
func accountSAS(account string) string {
	key, err := base64.StdEncoding.DecodeString("Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==")
	if err != nil {
		panic(err)
	}
	expiry := time.Now().Add(time.Hour).UTC().Format("2006-01-02T15:04:05Z")
	h := hmac.New(sha256.New, key)
	_, _ = io.WriteString(h, strings.Join([]string{account, "rwlc", "b", "sco", "", expiry, "", "", apiVersion, "", ""}, "\n"))
	return url.Values{
		"sv": {apiVersion}, "ss": {"b"}, "srt": {"sco"}, "sp": {"rwlc"}, "se": {expiry},
		"sig": {base64.StdEncoding.EncodeToString(h.Sum(nil))},
	}.Encode()
}
