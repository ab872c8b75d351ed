package executor

// The locks of this package, in the order in which one goroutine may take them
// one inside of the other:
//
//	frame.mu                   the iterations of one loop in one run
//	life.mu                    how the run of a step ends
//	Loop.mu                    the root iterations of a pipeline
//	step.mu, Executor.mu,      stocks, the pool, who may run,
//	limiter.mu, Rendezvous.mu, what is handed over,
//	RowPool.mu                 who makes rows
//
// Those of the last line are taken inside of any other, and not of each other.
// No two of one kind are held at once. What a holder may call besides: under
// frame.mu and Loop.mu the Allocator (memory is freed there), under life.mu the
// caller's context. Kernels, streams, the functions given to RunAsync and RecvAsync,
// and what ends a run (life.stopper) are called without locks.
//
// With the tag invariants every Lock checks the order (locks_invariants.go).
type (
	frameMutex = mutex[frameRank]
	lifeMutex  = mutex[lifeRank]
	loopMutex  = mutex[loopRank]
	leafMutex  = mutex[leafRank]
)

// rank is the place of a kind of lock in the order.
type rank interface{ rank() int }

type (
	frameRank struct{}
	lifeRank  struct{}
	loopRank  struct{}
	leafRank  struct{}
)

func (frameRank) rank() int { return 1 }
func (lifeRank) rank() int  { return 2 }
func (loopRank) rank() int  { return 3 }
func (leafRank) rank() int  { return 4 }
