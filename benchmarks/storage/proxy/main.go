// Command proxy stands before an S3 server, makes its answers late and counts them. Requests
// reach the server under the host that they were sent to, since their signatures are of it.
// It prints its address, and says under /_counts what has been asked since the last look there
// with ?reset=1.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

type proxy struct {
	to        *url.URL
	late      time.Duration
	transport *http.Transport

	gets, lists, heads, bytes atomic.Int64
}

func (p *proxy) counts(w http.ResponseWriter, r *http.Request) {
	look := (*atomic.Int64).Load
	if r.URL.Query().Get("reset") != "" {
		look = func(n *atomic.Int64) int64 { return n.Swap(0) }
	}
	_ = json.NewEncoder(w).Encode(map[string]int64{"gets": look(&p.gets), "lists": look(&p.lists), "heads": look(&p.heads), "bytes": look(&p.bytes)})
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/_counts":
		p.counts(w, r)
		return
	case r.Method == http.MethodHead:
		p.heads.Add(1)
	case r.URL.Query().Has("list-type") || strings.Count(strings.Trim(r.URL.Path, "/"), "/") == 0:
		p.lists.Add(1)
	default:
		p.gets.Add(1)
	}
	time.Sleep(p.late)
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.RequestURI = p.to.Scheme, p.to.Host, ""
	answer, err := p.transport.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer answer.Body.Close()
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	n, err := io.Copy(w, answer.Body)
	p.bytes.Add(n)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

func main() {
	to := flag.String("to", "", "address of the server")
	late := flag.Duration("late", 30*time.Millisecond, "how late an answer is")
	flag.Parse()
	server, err := url.Parse(*to)
	if err != nil || server.Host == "" {
		log.Fatalf("-to is %q; want an address such as http://127.0.0.1:7070", *to)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s\n", l.Addr())
	log.Fatal(http.Serve(l, &proxy{to: server, late: *late, transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}}))
}
