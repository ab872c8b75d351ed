package s3

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"time"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/internal/transfer"
)

// failure is the document of an answer that is no success.
type failure struct {
	XMLName xml.Name `xml:"Error"`
	Code    string
	Message string
	Region  string
}

// explain says what an answer that is no success means. What it learns of the region, the
// clock and the credentials mends the next try.
func (s *server) explain(r *http.Response, body []byte) transfer.Verdict {
	var f failure
	_ = xml.Unmarshal(body, &f) // what is no such document has no code
	if s.place.move(cmp.Or(r.Header.Get("X-Amz-Bucket-Region"), f.Region)) {
		return transfer.Verdict{Again: true, Err: s.other(r, &f)}
	}
	switch f.Code {
	case "RequestTimeTooSkewed":
		return s.clock(r)
	case "ExpiredToken", "InvalidToken", "TokenRefreshRequired":
		return s.refused(r, s.keys.renew(r.Request.Header.Get("Authorization")), "the session token is no longer valid", "get new credentials and set AWS_SESSION_TOKEN with them")
	case "InvalidAccessKeyId", "XAdminUserNotFound": // of versitygw
		return s.refused(r, s.keys.renew(r.Request.Header.Get("Authorization")), "the server does not know the access key", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, to keys of this server")
	case "SignatureDoesNotMatch":
		return s.refused(r, false, "the secret key is not that of the access key", "set AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, to the secret of this key")
	case "NoSuchBucket":
		return transfer.Verdict{Away: true, Err: fmt.Errorf("there is no bucket %s at %s; correct the name, or set AWS_ENDPOINT_URL to the server that has it", printable.Name(s.bucket), s.place.address())}
	case "InvalidObjectState":
		return transfer.Verdict{Err: errors.New("the object is archived; restore it to a class of storage that can be read at once")}
	case "RequestTimeout":
		return transfer.Verdict{Err: s.other(r, &f), Retry: true}
	}
	switch r.StatusCode {
	case http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		if u, err := url.Parse(r.Header.Get("Location")); err == nil && s.place.follow(u) {
			return transfer.Verdict{Again: true, Err: s.other(r, &f)}
		}
	case http.StatusNotFound:
		if f.Code != "" && f.Code != "NoSuchKey" {
			break
		}
		return transfer.Verdict{Err: fmt.Errorf("%w: the bucket has no such object", fs.ErrNotExist)}
	case http.StatusForbidden, http.StatusUnauthorized:
		return s.denied(r, &f)
	}
	return transfer.ByStatus(r, s.other(r, &f))
}

// clock learns how far the server's clock is from this machine's.
func (s *server) clock(r *http.Response) transfer.Verdict {
	at, err := http.ParseTime(r.Header.Get("Date"))
	skew := time.Until(at)
	was := time.Duration(s.skew.Load())
	if err == nil && (skew-was).Abs() > time.Minute {
		s.skew.Store(int64(skew))
		return transfer.Verdict{Again: true, Err: errors.New("the clocks differ")}
	}
	return transfer.Verdict{Away: true, Err: fmt.Errorf("the server says that the time is wrong: here it is %s, there %s; set this machine's clock, or the server's",
		time.Now().UTC().Format(time.RFC3339), cmp.Or(r.Header.Get("Date"), "not said"))}
}

// refused is an answer to credentials; again says that there are others now.
func (s *server) refused(r *http.Response, again bool, what, remedy string) transfer.Verdict {
	return transfer.Verdict{Again: again, Away: true, Err: fmt.Errorf("%s %s at %s; %s", what, s.keys.describe(), r.Request.URL.Host, remedy)}
}

// denied is an answer to who may not do what was asked.
func (s *server) denied(r *http.Response, f *failure) transfer.Verdict {
	who, remedy := "the request, which had no signature", "leave Anonymous out and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
	switch {
	case s.authorize != nil:
		who, remedy = "the request", "let its account read and list the bucket"
	case s.keys != nil:
		who, remedy = "the access key "+s.keys.describe(), "let it read and list the bucket (s3:GetObject, s3:ListBucket), or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, to one that may"
	}
	return transfer.Verdict{Err: fmt.Errorf("%w: %s refuses %s (%s); %s", fs.ErrPermission, r.Request.URL.Host, who, cmp.Or(f.Code, r.Status), remedy)}
}

// other is what is not known here, in the server's words.
func (s *server) other(r *http.Response, f *failure) error {
	if f.Code == "" {
		return fmt.Errorf("%s answers %s", r.Request.URL.Host, printable.Line(r.Status))
	}
	return fmt.Errorf("%s answers %d %s: %.300s", r.Request.URL.Host, r.StatusCode, printable.Line(f.Code), printable.Line(f.Message))
}
