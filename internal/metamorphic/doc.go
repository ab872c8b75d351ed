// Package metamorphic has tests only: they run random pipelines in random ways and
// compare every batch, byte by byte, with what one worker makes with a prefetch depth
// of one.
//
// A case is drawn from a seed. Its definition is all that may decide a batch: data,
// operators, policies, shards. Its truth is a table of the batches of the first
// epochs. A session then runs the definition in another way, an execution: workers,
// depths, budgets, limits on concurrency, tuning. The session makes moves, such as an
// epoch that is broken off, a cancelled context, a batch that is kept, a state that is
// restored in a new loader. Whatever it does, each batch must be that of the table,
// each error as well, no memory and no goroutine may be left, and a watchdog ends a case
// that hangs.
//
//	go test ./internal/metamorphic                          # some hundred cases
//	go test ./internal/metamorphic -pipelines.seed=17 -v    # one case again
//	go test ./internal/metamorphic -timeout 0 -pipelines.for=1h
//
// To extend it, add a line to the table of what is to be drawn: readings, following
// (readers that follow others), features (operators), allMoves; or a field to definition or
// execution.
package metamorphic
