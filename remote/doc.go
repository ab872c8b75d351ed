// Package remote has rows of a pipeline made by other processes, on this machine or others,
// which send them over HTTP. A row is a pure function of the definition, the data and the
// seed, so batches are the same, bit for bit, whoever makes their rows, and whatever workers
// fail, are late, come or go. There is no coordinator, and a worker keeps no state.
//
// The training program names its workers:
//
//	pipeline.Options{Remote: &remote.Workers{Addresses: []string{"http://10.0.0.7:8470"}}, …}
//
// A worker is the same program with the same definition, which serves rows in place of
// training:
//
//	s, err := remote.NewServer(p, remote.ServerOptions{})
//	err = s.Serve(ctx, listener)
//
// docs/remote.md says what happens when, and describes the wire format on one page.
package remote
