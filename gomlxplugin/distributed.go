package gomlxplugin

import (
	"context"
	"fmt"
	"iter"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/distributed"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/core/tensors/dtensor"
	"github.com/gomlx/gomlx/ml/train"

	"github.com/planktonml/plankton/iterator"
)

// Distributed is a loader as a train.DistributedDataset: the batch of its pipeline i is the shard of device i.
type Distributed struct {
	*Dataset
	mesh *distributed.DeviceMesh
}

var _ train.DistributedDataset = (*Distributed)(nil)

// NewDistributed makes a data set of a loader of several pipelines, one for each device of a
// mesh with one axis, in the order of the devices. Each pipeline has a NewMemory of its device, and
// its reader the device's shard of the epoch (pipeline.ReaderOptions.ShardID). The batch is
// sharded along the axis, its size is that of all pipelines together. Trimmed is refused, as
// shards have one size.
//
// Other errors are those of New.
func NewDistributed(ctx context.Context, loader *iterator.Loader, mesh *distributed.DeviceMesh, o Options) (*Distributed, error) {
	d, err := newDataset(ctx, loader, o)
	switch {
	case err != nil:
		return nil, err
	case mesh == nil || mesh.Rank() != 1:
		return nil, fmt.Errorf("gomlxplugin: NewDistributed needs a mesh with one axis, such as NewDeviceMesh([]int{%d}, []string{\"data\"})", len(d.memory))
	case mesh.NumDevices() != len(d.memory):
		return nil, fmt.Errorf("gomlxplugin: the mesh has %d devices and the loader %d pipelines: make a pipeline for each device", mesh.NumDevices(), len(d.memory))
	case o.Rows == Trimmed:
		return nil, fmt.Errorf("gomlxplugin: Options.Rows is %s, but the shards of a batch have one size: use Masked or Weighted", o.Rows)
	}
	return &Distributed{d, mesh}, nil
}

// Strategy implements train.DistributedDataset.
func (d *Distributed) Strategy() distributed.Strategy { return distributed.AutoSharding }

// DeviceAssignment implements train.DistributedDataset: the devices of the pipelines' memory.
func (d *Distributed) DeviceAssignment() []compute.DeviceNum {
	devices := make([]compute.DeviceNum, len(d.memory))
	for i, m := range d.memory {
		devices[i] = m.device
	}
	return devices
}

// Iter implements train.Dataset; it yields an error alone, since a batch lies on several devices.
func (d *Distributed) Iter() iter.Seq2[train.Batch, error] {
	return func(yield func(train.Batch, error) bool) {
		yield(train.Batch{}, fmt.Errorf("gomlxplugin: data set %q is distributed over %d devices: iterate with DistributedIter, or make a loader and a data set of one pipeline", d.Name(), len(d.memory)))
	}
}

// DistributedIter implements train.DistributedDataset, as Dataset.Iter does train.Dataset.
func (d *Distributed) DistributedIter() iter.Seq2[train.DistributedBatch, error] {
	return func(yield func(train.DistributedBatch, error) bool) {
		for b, err := range d.batches() {
			if err != nil {
				if !yield(train.DistributedBatch{}, err) {
					return
				}
				continue
			}
			batch, err := d.shards(b)
			if err != nil {
				yield(train.DistributedBatch{}, err)
				return
			}
			if !yield(batch, nil) {
				return
			}
		}
	}
}

// shards gives the batches of all pipelines away.
func (d *Distributed) shards(b *iterator.Batch) (out train.DistributedBatch, err error) {
	parts := make([]train.Batch, len(d.memory))
	defer func() {
		if err != nil {
			for _, part := range parts {
				_ = part.Finalize()
			}
			out = train.DistributedBatch{}
		}
	}()
	for i, m := range d.memory {
		if parts[i], err = d.batch(b.Part(i), m); err != nil {
			return out, err
		}
	}
	out.Spec = d.o.Spec
	if out.Inputs, err = d.join(parts, func(p train.Batch) []*tensors.Tensor { return p.Inputs }); err == nil {
		out.Labels, err = d.join(parts, func(p train.Batch) []*tensors.Tensor { return p.Labels })
	}
	return out, err
}

// join makes the tensors at the same place of all parts the shards of one.
func (d *Distributed) join(parts []train.Batch, of func(train.Batch) []*tensors.Tensor) ([]*dtensor.Tensor, error) {
	var all []*dtensor.Tensor
	for i, first := range of(parts[0]) {
		spec := distributed.BuildSpec(d.mesh).S(d.mesh.AxesNames()[0])
		for range first.Rank() - 1 {
			spec = spec.R()
		}
		s, err := spec.Done()
		if err != nil {
			return nil, err
		}
		shards := make([]*tensors.Tensor, len(parts))
		for k, part := range parts {
			shards[k] = of(part)[i]
		}
		t, err := dtensor.NewTensor(s, shards)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}
