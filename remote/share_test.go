package remote_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/remote"
)

// Training programs with seeds, batches, ranks and error policies of their own share workers, and
// each has the batches that it has alone.
func TestTrainersShareWorkers(t *testing.T) {
	j := job{samples: 240, bad: 40, cost: 100 * time.Microsecond, options: pipeline.Options{BatchSize: 1}}
	_, a := worker(t, j)
	_, b := worker(t, j)
	t.Run("trainers", func(t *testing.T) {
		for i := range 4 {
			j := j
			j.rank, j.world = i%2, 1+i%2
			if i == 3 {
				j.rank = 0
			}
			j.options = pipeline.Options{BatchSize: 5 + 3*i, Workers: 1, Seed: uint64(i / 2), OnError: []pipeline.ErrorPolicy{pipeline.Skip, pipeline.Replace}[i%2]}
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				want := digests(t, j.pipeline(t), 2)
				j.options.Remote = &remote.Workers{Addresses: []string{a.URL, b.URL}, Only: i > 1}
				eventually(t, "a row comes from elsewhere", func(work time.Duration) bool {
					p := j.pipeline(t)
					require.Equal(t, want, digestsAtLeisure(t, p, 2, work))
					return elsewhere(p) > 0
				})
			})
		}
	})
}

// Two workers stand behind one address, and one of them makes other rows. It is refused by
// name, and the address stays: the rows come from the other one.
func TestOneRefusalBehindALoadBalancer(t *testing.T) {
	j := job{samples: 240, cost: 100 * time.Microsecond, options: pipeline.Options{BatchSize: 8, Workers: 1}}
	want := digests(t, j.pipeline(t), 2)
	exact, salted := j, j
	exact.options.ExactRGB = true
	salted.salt = 0.5
	for name, other := range map[string]job{"another pipeline": exact, "other contents": salted} {
		t.Run(name, func(t *testing.T) {
			balanced := []http.Handler{}
			for _, j := range []job{other, j} {
				s, err := remote.NewServer(j.pipeline(t), remote.ServerOptions{})
				require.NoError(t, err)
				balanced = append(balanced, s)
			}
			var turn, misled atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				i := turn.Add(1) % 2
				if i == 0 && req.Method == http.MethodPost {
					misled.Add(1)
				}
				balanced[i].ServeHTTP(w, req)
			}))
			defer server.Close()
			var mu sync.Mutex
			var refusals []string
			j := j
			j.refused = func(err error) {
				mu.Lock()
				defer mu.Unlock()
				refusals = append(refusals, err.Error())
			}
			j.options.Remote = &remote.Workers{Addresses: []string{server.URL}}
			eventually(t, "the good worker makes rows after the other one was refused", func(work time.Duration) bool {
				mu.Lock()
				refusals = nil
				mu.Unlock()
				misled.Store(0)
				p := j.pipeline(t)
				require.Equal(t, want, digestsAtLeisure(t, p, 2, work))
				mu.Lock()
				defer mu.Unlock()
				return elsewhere(p) > 0 && len(refusals) > 0 && misled.Load() > 1
			})
			mu.Lock()
			defer mu.Unlock()
			for _, r := range refusals {
				require.Contains(t, r, server.URL)
				require.True(t, strings.Contains(r, "exact_rgb=true") || strings.Contains(r, "its data differ"), r)
			}
		})
	}
}
