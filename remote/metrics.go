package remote

import (
	"fmt"
	"net/http"
	"time"
)

// metrics writes what the worker has done in Prometheus' text format.
func (s *Server) metrics(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	c := &s.counts
	for _, m := range []struct {
		name, kind, help string
		value            float64
	}{
		{"requests_total", "counter", "Requests for rows that were answered.", float64(c.requests.Load())},
		{"rows_total", "counter", "Rows that were made.", float64(c.rows.Load())},
		{"rows_failed_total", "counter", "Rows that could not be made.", float64(c.failed.Load())},
		{"bytes_total", "counter", "Bytes of rows that were sent.", float64(c.bytes.Load())},
		{"refused_total", "counter", "Requests with another token or fingerprint, or that cannot be read.", float64(c.refused.Load())},
		{"busy_total", "counter", "Requests that were turned away because too many waited.", float64(c.busy.Load())},
		{"rows_seconds_total", "counter", "Time in which rows were made, over all workers, waits for a worker included.", time.Duration(s.spent.Load()).Seconds()},
		{"requests_working", "gauge", "Requests that are worked on or wait now.", float64(c.working.Load())},
		{"workers", "gauge", "Rows that are made at once at most.", float64(s.kitchen.Parallel())},
		{"load", "gauge", "Rows that are being made or wait for that now, for each row that can be made at once: on average 1 and more where more workers would help.", float64(c.making.Load()) / float64(s.kitchen.Parallel())},
	} {
		fmt.Fprintf(w, "# HELP plankton_worker_%s %s\n# TYPE plankton_worker_%s %s\nplankton_worker_%s %g\n", m.name, m.help, m.name, m.kind, m.name, m.value)
	}
}
