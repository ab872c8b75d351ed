package report

import (
	"bytes"
	"fmt"
	"net/http"
	"path"
	"strings"
)

// oneAtATime calls do when no other client's page or trace is being made, but for a client that has gone.
func (r *Recorder) oneAtATime(req *http.Request, do func() error) error {
	r.serving.Lock()
	defer r.serving.Unlock()
	if err := req.Context().Err(); err != nil {
		return err
	}
	return do()
}

// refresh is after how many seconds the live page is loaded again.
const refresh = 5

// ServeHTTP serves the live page of the run: the report as it is now, which loads itself again every five seconds
// (?still leaves that out), and beside it the figures for Prometheus and the trace:
//
//	http.Handle("/train/", rec) // /train/, /train/metrics, /train/trace.json
//
// The path ends in a slash, as above, for the page's links. A page takes some milliseconds of a processor, and
// nothing while nobody looks. The trace of a long run takes a second of a processor, 30 MB for a copy of the events and
// twice that for the text; the run goes on meanwhile, but for the milliseconds that the copy takes. Pages and traces
// are made one at a time, however many ask. Whoever can reach it sees names and pictures of samples: serve it to those only that may.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD are served here", http.StatusMethodNotAllowed)
		return
	}
	l := r.loader()
	if l == nil {
		http.Error(w, "the run has not begun: no loader is attached yet", http.StatusServiceUnavailable)
		return
	}
	var b bytes.Buffer // what fails must not be half sent
	var err error
	kind := "text/html; charset=utf-8"
	switch name := path.Base(req.URL.Path); {
	case name == "metrics":
		kind, err = "text/plain; version=0.0.4; charset=utf-8", l.Stats().WritePrometheus(&b)
	case name == "trace.json":
		kind, err = "application/json", r.oneAtATime(req, func() error { return r.WriteTrace(&b) })
	case !strings.HasSuffix(req.URL.Path, "/"):
		http.NotFound(w, req)
		return
	default:
		var v *page
		err = r.oneAtATime(req, func() (err error) {
			v, err = r.page()
			return err
		})
		if err == nil {
			v.Live = true
			if !req.URL.Query().Has("still") {
				v.Refresh = refresh
			}
			err = v.writeHTML(&b)
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Length", fmt.Sprint(b.Len()))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; img-src data:; style-src 'unsafe-inline'")
	_, _ = w.Write(b.Bytes()) // whoever asked may have gone
}
