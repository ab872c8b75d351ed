package s3

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"

	"github.com/planktonml/plankton/internal/objectfs"
)

// place is where a bucket is: its region, which a signature names, and its address. Both
// may turn out to be others than was thought.
type place struct {
	bucket string

	mu      sync.Mutex
	given   bool     // the address was given and does not follow the region
	base    *url.URL // without the bucket in its path
	virtual bool     // the bucket is a part of the host's name
	region  string
}

func newPlace(endpoint, bucket, region string) (*place, error) {
	p := &place{bucket: bucket, region: region, given: endpoint != ""}
	if p.given {
		u, ok := objectfs.ParseServer(endpoint)
		if !ok {
			return nil, fmt.Errorf("the endpoint is %q; want an address such as https://s3.example.org (Endpoint or AWS_ENDPOINT_URL)", endpoint)
		}
		p.base = u
		return p, nil
	}
	// A certificate does not hold for names with dots in them.
	p.virtual = !strings.Contains(bucket, ".") && bucket == strings.ToLower(bucket)
	p.base = amazon("s3", region)
	return p, nil
}

// amazon returns the address of one of Amazon's services.
func amazon(service, region string) *url.URL {
	domain := ".amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		domain += ".cn"
	}
	return &url.URL{Scheme: "https", Host: service + "." + region + domain}
}

// url returns the address of a key, or with a query that of the bucket, and the region.
func (p *place) url(key, query string) (*url.URL, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := *p.base
	path := u.Path + "/"
	if p.virtual {
		u.Host = p.bucket + "." + u.Host
	} else {
		path += p.bucket + "/"
	}
	u.Path = path + key
	u.RawPath = escape(u.Path, true)
	u.RawQuery = query
	return &u, p.region
}

// address returns the server's address as errors show it.
func (p *place) address() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.base.String()
}

// move goes to another region, and reports whether it is another.
func (p *place) move(region string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if region == "" || region == p.region || strings.ContainsAny(region, "/.: ") {
		return false
	}
	p.region = region
	if !p.given {
		p.base = amazon("s3", region)
	}
	return true
}

// follow goes to the host of an address, and reports whether it is another that can be
// trusted with as much.
func (p *place) follow(u *url.URL) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u.Host == "" || u.Scheme != p.base.Scheme && u.Scheme != "https" {
		return false
	}
	host, virtual := u.Host, false
	if _, _, err := net.SplitHostPort(host); err != nil || !strings.HasPrefix(u.Path, "/"+p.bucket) {
		host, virtual = strings.CutPrefix(host, p.bucket+".")
	}
	if host == p.base.Host && virtual == p.virtual && u.Scheme == p.base.Scheme {
		return false
	}
	p.base = &url.URL{Scheme: u.Scheme, Host: host}
	p.virtual, p.given = virtual, true
	return true
}
