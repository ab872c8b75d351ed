package stats

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// WritePrometheus writes the counts of pipelines in the text format of
// Prometheus (version 0.0.4), for a handler of /metrics. Times are in seconds,
// and all names begin with "plankton_". Pipelines are told apart by the label
// "pipeline", from "0".
func WritePrometheus(w io.Writer, pipelines ...Run) error {
	m := metrics{w: bufio.NewWriter(w), of: pipelines}
	m.operators("operator_samples_total", "Samples that an operator was given.", func(o *Operator) float64 { return float64(o.Samples) })
	m.operators("operator_bytes_total", "Bytes of an operator's results.", func(o *Operator) float64 { return float64(o.Bytes) })
	m.operators("operator_errors_total", "Samples that an operator could not make.", func(o *Operator) float64 { return float64(o.Errors) })
	m.operators("operator_busy_seconds_total", "Time that workers spent in an operator.", func(o *Operator) float64 { return o.Busy.Seconds() })
	m.operators("operator_wait_seconds_total", "Time that an operator waited for its turn or for memory.", func(o *Operator) float64 { return (o.WaitGet + o.WaitMemory).Seconds() })
	m.operators("operator_storage_wait_seconds_total", "Time that a reader waited for a server.", func(o *Operator) float64 { return o.WaitStorage.Seconds() })
	m.operators("operator_stream_seconds_total", "Time that an operator's work took on its stream of the device.", func(o *Operator) float64 { return o.OnStream.Seconds() })

	m.gauge("workers", "Workers that work.", func(s *Run) float64 { return float64(s.Workers.Workers) })
	m.head("worker_seconds_total", "counter", "Time of all workers, by what they did.")
	for i := range pipelines {
		k := &pipelines[i].Workers
		for _, state := range []struct {
			name string
			d    time.Duration
		}{{"busy", k.Busy()}, {"wait_put", k.WaitPut}, {"wait_get", k.WaitGet}, {"wait_memory", k.WaitMemory}, {"yielded", k.Yielded}} {
			fmt.Fprintf(m.w, "plankton_worker_seconds_total{pipeline=\"%d\",state=%q} %g\n", i, state.name, state.d.Seconds())
		}
	}

	m.gauge("queue_depth", "Batches made ahead at most.", func(s *Run) float64 { return float64(s.Queue.Depth) })
	m.counter("queue_asked_total", "Times a batch was asked for.", func(s *Run) float64 { return float64(s.Queue.Asked) })
	m.counter("queue_found_total", "Times it was ready.", func(s *Run) float64 { return float64(s.Queue.Found) })
	m.counter("queue_ready_total", "Batches that were ready, summed over the times.", func(s *Run) float64 { return float64(s.Queue.Ready) })
	m.counter("queue_places_total", "The depth, summed over the times.", func(s *Run) float64 { return float64(s.Queue.Places) })

	m.counter("batches_total", "Batches delivered.", func(s *Run) float64 { return float64(s.Consumer.Batches) })
	m.counter("samples_total", "Valid rows delivered.", func(s *Run) float64 { return float64(s.Consumer.Samples) })
	m.counter("bad_samples_total", "Samples that were skipped or replaced.", func(s *Run) float64 { return float64(s.Consumer.Bad) })
	m.counter("warnings_total", "Warnings of operators of samples that they made all the same.", func(s *Run) float64 { return float64(s.Warnings.Count) })
	m.counter("consumer_wait_seconds_total", "Time that the consumer waited for batches.", func(s *Run) float64 { return s.Consumer.Waited.Seconds() })
	m.counter("consumer_step_seconds_total", "Time that the consumer had a batch.", func(s *Run) float64 { return s.Consumer.Body.Seconds() })
	m.gauge("first_batch_seconds", "The wait for the first batch.", func(s *Run) float64 { return s.Consumer.FirstBatch.Seconds() })
	m.counter("epoch_gaps_total", "Times an epoch followed another.", func(s *Run) float64 { return float64(s.Consumer.Gaps) })
	m.counter("epoch_gap_seconds_total", "The waits for those epochs' first batches.", func(s *Run) float64 { return s.Consumer.Gap.Seconds() })

	m.counter("storage_requests_total", "Requests to servers that samples lie on.", func(s *Run) float64 { return float64(s.Traffic.Requests) })
	m.counter("storage_retries_total", "Requests that were sent again after one that failed.", func(s *Run) float64 { return float64(s.Traffic.Retries) })
	m.counter("storage_hedges_total", "Requests that were sent beside one whose answer was late.", func(s *Run) float64 { return float64(s.Traffic.Hedges) })
	m.counter("storage_needed_bytes_total", "Bytes of objects that were asked for.", func(s *Run) float64 { return float64(s.Traffic.BytesNeeded) })
	m.counter("storage_fetched_bytes_total", "Bytes of objects that were read from answers.", func(s *Run) float64 { return float64(s.Traffic.BytesFetched) })
	m.counter("storage_cache_hits_total", "Reads that a cache answered.", func(s *Run) float64 { return float64(s.Traffic.CacheHits) })
	m.counter("storage_cache_misses_total", "Reads that a cache did not answer.", func(s *Run) float64 { return float64(s.Traffic.CacheMisses) })
	m.counter("storage_ahead_hits_total", "Reads of what was fetched ahead.", func(s *Run) float64 { return float64(s.Traffic.AheadHits) })
	m.counter("storage_ahead_misses_total", "Reads of what was not.", func(s *Run) float64 { return float64(s.Traffic.AheadMisses) })
	m.counter("storage_request_seconds_total", "Time of requests until their answers were read.", func(s *Run) float64 { return s.Traffic.UnderWay.Seconds() })

	m.counter("cpu_seconds_total", "Processor time of the process while the pipeline was at work.", func(s *Run) float64 { return s.CPU.Seconds() })
	m.counter("elapsed_seconds_total", "Time that the pipeline was at work.", func(s *Run) float64 { return s.Elapsed.Seconds() })
	m.gauge("memory_bytes", "Memory that the buffers hold.", func(s *Run) float64 { return float64(s.Memory.Live) })
	if slices.ContainsFunc(pipelines, func(s Run) bool { return len(s.Remote) > 0 }) {
		m.remotes("up", "gauge", "Whether a worker elsewhere makes rows, or did a second ago.", func(r *Remote) float64 { return map[bool]float64{true: 1}[r.Up] })
		m.remotes("rows_total", "counter", "Rows that a worker elsewhere made and a batch got.", func(r *Remote) float64 { return float64(r.Rows) })
		m.remotes("bytes_total", "counter", "Bytes that came from a worker elsewhere.", func(r *Remote) float64 { return float64(r.Bytes) })
		m.remotes("requests_total", "counter", "Requests that a worker elsewhere was sent.", func(r *Remote) float64 { return float64(r.Requests) })
		m.remotes("wait_seconds_total", "counter", "Time between requests and their first rows.", func(r *Remote) float64 { return r.Wait.Seconds() })
		m.remotes("receive_seconds_total", "counter", "Time between the first byte of a row and its last.", func(r *Remote) float64 { return r.Receive.Seconds() })
		m.remotes("asked_seconds_total", "counter", "Time between requests and the ends of their answers.", func(r *Remote) float64 { return r.Asked.Seconds() })
		m.remotes("stolen_total", "counter", "Rows that were taken from a request which went on, since the consumer waited for them.", func(r *Remote) float64 { return float64(r.Stolen) })
		m.remotes("failed_total", "counter", "Rows that a worker elsewhere could not make.", func(r *Remote) float64 { return float64(r.Failed) })
		m.remotes("lost_total", "counter", "Rows that did not come since their request broke, or was overdue, refused or turned away.", func(r *Remote) float64 { return float64(r.Lost) })
		m.remotes("audited_total", "counter", "Rows that were made here as well and found equal.", func(r *Remote) float64 { return float64(r.Audited) })
		m.remotes("downs_total", "counter", "Times that a worker elsewhere stopped answering, or was too late.", func(r *Remote) float64 { return float64(r.Downs) })
		m.remotes("refused_total", "counter", "Times that a worker elsewhere was refused.", func(r *Remote) float64 { return float64(r.Refused) })
	}
	return m.w.Flush()
}

// remotes writes one figure of every worker elsewhere.
func (m *metrics) remotes(name, kind, help string, value func(*Remote) float64) {
	m.head("remote_"+name, kind, help)
	for i := range m.of {
		for k := range m.of[i].Remote {
			r := &m.of[i].Remote[k]
			fmt.Fprintf(m.w, "plankton_remote_%s{pipeline=\"%d\",worker=\"%s\"} %g\n", name, i, labelEscaper.Replace(r.Name), value(r))
		}
	}
}

// metrics writes the figures of pipelines.
type metrics struct {
	w  *bufio.Writer
	of []Run
}

func (m *metrics) head(name, kind, help string) {
	fmt.Fprintf(m.w, "# HELP plankton_%s %s\n# TYPE plankton_%s %s\n", name, help, name, kind)
}

func (m *metrics) counter(name, help string, value func(*Run) float64) {
	m.figures(name, "counter", help, value)
}

func (m *metrics) gauge(name, help string, value func(*Run) float64) {
	m.figures(name, "gauge", help, value)
}

func (m *metrics) figures(name, kind, help string, value func(*Run) float64) {
	m.head(name, kind, help)
	for i := range m.of {
		fmt.Fprintf(m.w, "plankton_%s{pipeline=\"%d\"} %g\n", name, i, value(&m.of[i]))
	}
}

// operators writes one figure of every operator; their places tell those of one
// name apart.
func (m *metrics) operators(name, help string, value func(*Operator) float64) {
	m.head(name, "counter", help)
	for i := range m.of {
		for k := range m.of[i].Operators {
			o := &m.of[i].Operators[k]
			fmt.Fprintf(m.w, "plankton_%s{pipeline=\"%d\",operator=\"%s\",place=\"%d\"} %g\n", name, i, labelEscaper.Replace(o.Name), k, value(o))
		}
	}
}

// labelEscaper writes a label's value as the format wants it.
var labelEscaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
