package s3

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// emptyHash is the SHA-256 of no bytes, which every request here has for a body.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// signer signs requests with one pair of keys, in version 4 of Amazon's signatures:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
type signer struct {
	Credentials
	derived atomic.Pointer[derivedKey]
}

// derivedKey signs on one day, in one region, for one service.
type derivedKey struct {
	scope string // 20060102/region/service/aws4_request
	key   []byte
}

// sign adds the headers of a signature over the host, the path, the query, a range and
// the headers that begin with x-amz-. The path must be escaped as escape does it, and the
// query sorted. BodyHash is the SHA-256 of the body, in hexadecimal.
func (s *signer) sign(r *http.Request, bodyHash, region, service string, now time.Time) {
	stamp := now.UTC().Format("20060102T150405Z")
	scope := stamp[:8] + "/" + region + "/" + service + "/aws4_request"
	r.Header["X-Amz-Date"] = []string{stamp}
	r.Header["X-Amz-Content-Sha256"] = []string{bodyHash}
	if s.SessionToken != "" {
		r.Header["X-Amz-Security-Token"] = []string{s.SessionToken}
	}
	canonical, names := canonicalRequest(r, bodyHash)
	hash := sha256.Sum256([]byte(canonical))
	text := "AWS4-HMAC-SHA256\n" + stamp + "\n" + scope + "\n" + hex.EncodeToString(hash[:])
	signature := hex.EncodeToString(hmacOf(s.derive(scope), text))
	r.Header["Authorization"] = []string{"AWS4-HMAC-SHA256 Credential=" + s.AccessKeyID + "/" + scope +
		", SignedHeaders=" + names + ", Signature=" + signature}
}

// derive returns the key of a scope; requests come in the same one all day.
func (s *signer) derive(scope string) []byte {
	if d := s.derived.Load(); d != nil && d.scope == scope {
		return d.key
	}
	key := []byte("AWS4" + s.SecretAccessKey)
	for part := range strings.SplitSeq(scope, "/") {
		key = hmacOf(key, part)
	}
	s.derived.Store(&derivedKey{scope, key})
	return key
}

func hmacOf(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// canonicalRequest returns the text that a signature is of, and the names of the headers
// in it.
func canonicalRequest(r *http.Request, bodyHash string) (text, names string) {
	signed := make([]string, 0, 8)
	signed = append(signed, "host")
	for name := range r.Header {
		if name == "Range" || strings.HasPrefix(name, "X-Amz-") {
			signed = append(signed, strings.ToLower(name))
		}
	}
	slices.Sort(signed)
	names = strings.Join(signed, ";")
	var b strings.Builder
	b.Grow(512)
	b.WriteString(r.Method + "\n" + r.URL.EscapedPath() + "\n" + r.URL.RawQuery + "\n")
	for _, name := range signed {
		value := r.URL.Host
		if name != "host" {
			value = strings.Join(r.Header.Values(name), ",")
		}
		b.WriteString(name + ":" + strings.Join(strings.Fields(value), " ") + "\n")
	}
	b.WriteString("\n" + names + "\n" + bodyHash)
	return b.String(), names
}

// escape writes all but letters, digits and -._~ as %XX, and slashes unless they are
// kept, as a signature wants it.
func escape(s string, slashes bool) string {
	plain := func(c byte) bool {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
			c == '-' || c == '.' || c == '_' || c == '~' || slashes && c == '/'
	}
	n := 0
	for i := range len(s) {
		if !plain(s[i]) {
			n++
		}
	}
	if n == 0 {
		return s
	}
	const digits = "0123456789ABCDEF"
	b := make([]byte, 0, len(s)+2*n)
	for i := range len(s) {
		if c := s[i]; plain(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(b)
}
