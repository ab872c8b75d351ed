// Package shard computes epoch plans: which rank reads which samples when.
//
// A [Plan] is a pure function. Batch k of epoch e for rank r is computed from the
// plan's [Config], not remembered, so seeking, resuming and asking for a length
// cost the same at the start and at sample 10¹², and nothing grows with the data
// set. The package does no input or output and starts no goroutine.
//
//	plan, err := shard.New(shard.Config{Samples: 50_000, Batch: 64, Shards: 4, Shuffle: true, Seed: 1})
//	…
//	for step := range plan.Len(epoch) {
//		ids = plan.AppendBatch(ids[:0], epoch, step, rank)
//		…
//	}
//
// # Laws of Exact mode
//
// Of N samples on S ranks with batches of b, in every epoch:
//
//   - Every rank takes the same number of steps. A rank that has run out gets
//     batches without a valid row.
//   - The length never changes: ceil(ceil(N/S)/b) steps under [Partial] and
//     [Fill], floor(floor(N/S)/b) under [Drop].
//   - [Partial]: the valid rows of all ranks are the data set, once each.
//   - [Fill]: every row is valid and every sample is read at least once. What is
//     repeated comes from the rank's own shard, from its start on, or with
//     PadLastBatch is its last sample; by step it comes from the epoch's whole
//     list. A rank whose shard is empty repeats the last sample of the list.
//   - [Drop]: every row is valid and no sample is read twice.
//   - Rows are filled from the front.
//
// They hold for N < S, N < b and b·S > N, shuffled or not, and for an epoch that
// is resumed by another number of ranks, taken together with what was read
// before ([Plan.Resume]).
//
// # Partitions
//
// By shard, shard k holds the positions floor(k·N/S) to floor((k+1)·N/S)-1 of the
// epoch's list. Rank r reads shard (r+e) mod S, or r if it sticks to its shard. The
// list is the data set in order or, shuffled, a new permutation in every
// epoch. Shuffled and sticking, one permutation is cut for good, and each shard
// is permuted per epoch within itself: a rank sees the same samples every time.
//
// By step, the list is cut into global batches of S·b samples, and rank r reads
// the r-th part of each. The global batches depend on the product S·b only: 2
// ranks of 32 rows and 4 of 16 read the same ones. The ranks share a short last
// batch evenly, to within one.
//
// # Several sources
//
// With Sources and Weights an epoch is the next N draws of a [Mix], which go on from
// epoch to epoch, and the laws hold for draws. The list of an epoch is in the order of
// the mix's schedule; Shuffle permutes each source within its own epochs.
//
// [Shares] in place of Weights change in the course of training, and mix mixes.
//
// # Samplers
//
// A [Sampler] lists other samples than every one once: [Weighted], [ClassBalanced],
// [Subset], [Repeated], [Curriculum], or one of a program's own. The laws then hold for the
// positions of its list, and it says how often a sample comes.
//
// # Groups
//
// [Groups] form the steps of a partition by step of samples of similar length, and share
// each among the ranks by cost.
//
// # DALI mode
//
// DALI mode returns what NVIDIA DALI 2.4 and its framework iterators return, for
// comparisons and for runs that must go on as they began. It is sequential: an
// epoch follows from the one before, of which the plan keeps a few numbers, up
// to [MaxDALIEpochs]. It knows neither Shuffle nor a partition by step, and needs
// N >= S. Where it breaks the laws above:
//
//   - [Partial] without padding, rotating, S > 1: the readers run past the end of
//     their shards and the next epoch does not know. From epoch 1 on samples are
//     missing and others repeated. Exact with PadLastBatch or StickToShard.
//   - [Drop] with PadLastBatch, where S does not divide N and b divides floor(N/S):
//     a shard that is short gives one batch of repeats too many, which the next
//     epoch begins with: every other epoch consists of repeats.
//   - [Drop] without padding starts the next epoch where the readers have got to,
//     so epochs do not start at a shard's first sample.
//   - [Fill] without padding counts what it read too much for the next epoch,
//     which leaves it out: epochs differ in length, and single epochs are not complete.
//   - With a Size, Len does not follow the carry of [Fill]: [Plan.Steps] can be
//     one less. Under [Partial] the excess is cut off the last pipelines, whoever
//     has it: shards of unequal size lose a sample and repeat another, and
//     some ranks get no batch in the last step.
//   - With a negative Size the epoch has no end, and Len says 0. DALI takes any
//     policy there and ignores it; here it has to be [Fill].
//   - DALI takes one shard twice and returns it twice; here Pipes must differ.
//
// [Cursor] replays calls in any order, such as a reset in the middle of an epoch.
//
// # World
//
// [FromEnv] reads rank and world size from the environment that torchrun,
// mpirun, srun and others give to the processes they start.
package shard
