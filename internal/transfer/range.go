package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/planktonml/plankton/storage"
)

// Version is what tells an object from a later one of the same name.
type Version struct {
	ETag     string    // without the quotation marks; "" where the server has none
	Modified time.Time // to the second; zero where it is not known
	Size     int64     // -1 where it is not known
}

// Unknown is the version of an object that has not been met yet.
var Unknown = Version{Size: -1}

// words describes a version for a person.
func (v Version) words() string {
	switch {
	case v.ETag != "":
		return fmt.Sprintf("ETag %s, %d bytes", v.ETag, v.Size)
	case !v.Modified.IsZero():
		return fmt.Sprintf("%d bytes of %s", v.Size, v.Modified.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("%d bytes", v.Size)
}

// Same reports whether what is may be of the version v.
func (v Version) Same(is Version) bool {
	if v.Size >= 0 && is.Size >= 0 && v.Size != is.Size {
		return false
	}
	if v.ETag != "" && is.ETag != "" {
		return v.ETag == is.ETag
	}
	return v.Modified.IsZero() || is.Modified.IsZero() || v.Modified.Equal(is.Modified)
}

// Changed is the error of an object that has another version than it was met with.
func Changed(name string, was, is Version) error {
	return &storage.ChangedError{Name: name, Was: was.words(), Is: is.words()}
}

// ParseETag returns an entity tag without its quotation marks.
func ParseETag(s string) string { return strings.Trim(s, `"`) }

// ReadRange fills dst with the bytes of an object from off on, and returns how many it
// has read and the version that they are of. An object that is not of the version want
// is a *[storage.ChangedError], one that ends before [io.ErrUnexpectedEOF].
func (c *Client) ReadRange(ctx context.Context, r *Request, want Version, off int64, dst []byte) (n int, is Version, err error) {
	t := tries{c: c, name: r.Name}
	is = want
	for n < len(dst) {
		p := part{Request: r, version: is, off: off + int64(n), want: len(dst) - n}
		var got int
		got, is, err = c.readOnce(ctx, &p, dst[n:])
		n += got
		c.counts.needed.Add(int64(got))
		if got > 0 {
			t.progress()
		}
		if err == nil {
			continue
		}
		if err = t.next(ctx, err); err != nil {
			return n, is, err
		}
		if n > 0 {
			c.counts.resumed.Add(1)
		}
	}
	return n, is, nil
}

// readOnce reads what one answer has, which may be less than dst.
func (c *Client) readOnce(ctx context.Context, p *part, dst []byte) (int, Version, error) {
	a, err := c.race(ctx, p)
	if err != nil {
		return 0, p.version, err
	}
	defer a.close()
	n, err := a.fill(dst[:min(len(dst), a.left)])
	if size := a.version.Size; err == nil && n < len(dst) && (size < 0 || p.off+int64(n) >= size) {
		err = &endError{a.version.Size}
	}
	return n, a.version, err
}

// endError is an object that is over before the range that was asked for.
type endError struct{ size int64 }

func (e *endError) Error() string {
	if e.size < 0 {
		return "the object ends before"
	}
	return fmt.Sprintf("the object has only %d bytes", e.size)
}
func (e *endError) Unwrap() error { return io.ErrUnexpectedEOF }

// part is a range of an object that is asked for.
type part struct {
	*Request
	version Version
	off     int64
	want    int // bytes
}

// head completes a request.
func (p *part) head(r *http.Request) {
	r.Header.Set("Range", "bytes="+strconv.FormatInt(p.off, 10)+"-"+strconv.FormatInt(p.off+int64(p.want)-1, 10))
	if p.version.ETag != "" && !strings.HasPrefix(p.version.ETag, "W/") {
		r.Header.Set("If-Match", `"`+p.version.ETag+`"`)
	}
}

// check looks at an answer: whether its body has the part, and of which version.
func (p *part) check(answer *http.Response) (is Version, left int, err error) {
	is = Version{ETag: ParseETag(answer.Header.Get("ETag")), Size: -1}
	if at, err := http.ParseTime(answer.Header.Get("Last-Modified")); err == nil {
		is.Modified = at
	}
	switch answer.StatusCode {
	case http.StatusPartialContent:
		first, last, size, ok := parseContentRange(answer.Header.Get("Content-Range"))
		is.Size = size
		if ok && size >= 0 && !p.version.Same(is) {
			break
		}
		if !ok || first != p.off || last < first || last >= p.off+int64(p.want) {
			return is, 0, fmt.Errorf("asked for %d bytes from byte %d, the server sends the range %.60q", p.want, p.off, answer.Header.Get("Content-Range"))
		}
		left = int(last - first + 1)
	case http.StatusOK:
		is.Size = answer.ContentLength
		if !p.version.Same(is) {
			break
		}
		if p.off > 0 {
			return is, 0, errors.New("the server sends the whole object where a part was asked for; only objects that are read from their beginning in one piece can be had from it")
		}
		left = p.want
		if is.Size >= 0 {
			left = int(min(is.Size, int64(p.want)))
		}
	case http.StatusRequestedRangeNotSatisfiable:
		_, _, is.Size, _ = parseContentRange(answer.Header.Get("Content-Range"))
		is.ETag, is.Modified = "", time.Time{} // servers leave them out, or give those of the error
		if p.version.Same(is) {
			if is.Size < 0 {
				is.Size = p.version.Size
			}
			return is, 0, nil
		}
	case http.StatusPreconditionFailed:
		return is, 0, &storage.ChangedError{Name: p.Name, Was: p.version.words()}
	}
	if !p.version.Same(is) {
		return is, 0, Changed(p.Name, p.version, is)
	}
	if is.Size < 0 {
		is.Size = p.version.Size
	}
	if p.version.ETag != "" { // keep what the object was met with
		is.ETag = p.version.ETag
	}
	if !p.version.Modified.IsZero() {
		is.Modified = p.version.Modified
	}
	return is, left, nil
}

// parseContentRange parses "bytes 0-99/1000", "bytes 0-99/*" and "bytes */1000"; a size
// that is not there is -1.
func parseContentRange(s string) (first, last, size int64, ok bool) {
	s, ok = strings.CutPrefix(s, "bytes ")
	span, total, found := strings.Cut(s, "/")
	if !ok || !found {
		return 0, 0, -1, false
	}
	size = -1
	if total != "*" {
		n, err := strconv.ParseInt(total, 10, 64)
		if err != nil || n < 0 {
			return 0, 0, -1, false
		}
		size = n
	}
	if span == "*" {
		return 0, -1, size, size >= 0
	}
	a, b, found := strings.Cut(span, "-")
	first, errFirst := strconv.ParseInt(a, 10, 64)
	last, errLast := strconv.ParseInt(b, 10, 64)
	ok = found && errFirst == nil && errLast == nil && first >= 0 && last >= first && (size < 0 || last < size)
	return first, last, size, ok
}
