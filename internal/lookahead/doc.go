// Package lookahead fetches ranges of objects before they are read, along the plan of a run.
//
// A goroutine, the planner, ranges over the samples that come. It cuts them into windows: the
// samples that are shuffled together, or, where all are, a quarter of the memory. It joins the
// ranges of a window that lie side by side in an object into requests, and sends these in the
// order in which their first samples are needed, each as soon as there is memory for it.
//
// # What a read waits for
//
// A read says which place in the run it is for, and gets the range that was fetched for this
// place. A place gives its range once. So a row that is made again, and whatever else the
// planner did not foresee, has no range, and asks the store itself.
//
// A read waits for a request that was sent or is about to be, and for the planner while that is
// at work. It never waits for memory: while the planner does, a read of what has no memory yet
// asks the store itself, and its place is left out. Memory comes back by reads, and by [Run.Done]
// for rows that were made without one. So nothing waits for ever: a request ends by itself, by the
// store's own bounds on time, and what waits for memory holds up no reader.
//
// A request that fails says nothing about the samples in it, since one of them may be behind
// the end of an object that was cut off. They are read one by one then, and those that cannot be
// fail as they do without looking ahead.
//
// # Locks
//
// [Run] has one lock, which is held while nothing is waited for and no code of the store runs.
package lookahead
