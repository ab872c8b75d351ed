package ops_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/pipeline/readers/parquet"
	"github.com/planktonml/plankton/storage/index"
)

// dirt is an allocator whose memory is full of a byte.
type dirt struct {
	memstats.Heap
	with byte
}

func (d dirt) Alloc(n int) ([]byte, error) {
	mem, err := d.Heap.Alloc(n)
	d.spread(mem)
	return mem, err
}

func (d dirt) spread(mem []byte) {
	for i := range mem {
		mem[i] = d.with
	}
}

// delivered runs a pipeline over two epochs in dirty memory, which it makes dirty again
// behind every batch, and returns all samples by output. Every one has the declared shape.
func (d dirt) delivered(t *testing.T, o pipeline.Options, define func(g *pipeline.Graph)) map[string][]array {
	t.Helper()
	o.Allocator = d
	p, err := pipeline.New(o, define)
	require.NoError(t, err)
	l, err := iterator.New(iterator.Options{}, p)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	got := map[string][]array{}
	for b, err := range l.Epochs(t.Context(), 2) {
		require.NoError(t, err)
		for _, name := range p.Outputs() {
			spec := p.Spec(name)
			for i, ok := range b.Mask() {
				s := b.Sample(name, i)
				if ok {
					got[name] = append(got[name], toArray(s))
					require.Len(t, s.Shape(), len(spec.Shape), name)
					for k, n := range spec.Shape {
						require.True(t, n < 0 || n == s.Shape()[k], "%s: %v, declared %v", name, s.Shape(), spec.Shape)
					}
				}
				d.spread(s.Bytes())
			}
		}
	}
	return got
}

// Every operator and reader writes all of what it declares: what comes out does not depend
// on what the memory held before. A new one must be in the table.
func TestOperatorsAndReadersWriteAllOfTheirOutputs(t *testing.T) {
	files := [][]byte{encodeJPEG(t, smooth(40, 50)), encodePNG(t, smooth(40, 50)), encodeJPEG(t, gray(40, 50)), encodeJPEG(t, smooth(40, 50))}
	root := t.TempDir()
	for i, file := range files {
		name := filepath.Join(root, string(rune('a'+i%2)), string(rune('a'+i))+".jpg")
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
		require.NoError(t, os.WriteFile(name, file, 0o666))
	}
	images, labels := filepath.Join(t.TempDir(), "images"), filepath.Join(t.TempDir(), "labels")
	require.NoError(t, os.WriteFile(images, append([]byte{0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 3}, ramp(18)...), 0o666))
	require.NoError(t, os.WriteFile(labels, append([]byte{0, 0, 8, 1, 0, 0, 0, 3}, ramp(3)...), 0o666))
	place := fstest.MapFS{"coco.json": {Data: []byte(`{"images": [{"id": 1, "file_name": "pictures/a.jpg"}, {"id": 2, "file_name": "pictures/b.jpg"}],
		"categories": [{"id": 3}], "annotations": [{"image_id": 2, "category_id": 3, "bbox": [1, 2, 3, 4]}]}`)}}
	var shard []byte
	for i, name := range []string{"a", "b"} {
		place["pictures/"+name+".jpg"], place["masks/"+name+".png"] = &fstest.MapFile{Data: files[i]}, &fstest.MapFile{Data: files[i]}
		shard = index.AppendRecord(shard, index.ExamplePieces(index.Feature{Key: "image", Bytes: files[i]},
			index.Feature{Key: "label", Int64s: []int64{1}}, index.Feature{Key: "ids", Int64s: make([]int64, i)})...)
	}
	place["shards/a.tfrecord"] = &fstest.MapFile{Data: shard}
	tables := fstest.MapFS{
		"a.csv":   {Data: []byte("x1,x2,t,l\n1,2,abc,1\n3,4,,0\n5,6,z,2\n")},
		"a.jsonl": {Data: []byte(`{"v": [[1], [2]], "t": "", "l": "b", "n": 1}` + "\n" + `{"v": [], "t": "ab", "l": "a", "n": -2}` + "\n")},
	}
	type graph = *pipeline.Graph
	type values = []pipeline.Value
	encoded := func(g graph) pipeline.Value {
		return readers.Slices(g, readers.SlicesOptions{}, readers.Ragged(files))[0]
	}
	pic := func(g graph) pipeline.Value {
		return readers.Slices(g, readers.SlicesOptions{}, picture(5, 6, 3, ramp(5*6*3*2)...))[0]
	}
	number := func(g graph) pipeline.Value {
		return readers.Slices(g, readers.SlicesOptions{}, readers.Rows([]int32{1, 0, 2}))[0]
	}
	small := ops.CropMirrorNormalizeOptions{CropOptions: ops.CropOptions{Height: 3, Width: 4}, Std: []float64{2}}
	beyond := ops.CropMirrorNormalizeOptions{CropOptions: ops.CropOptions{Height: 9, Width: 9, OutOfBounds: ops.BoundsPad}, PadOutput: true, DType: datum.Float16}
	size := ops.ResizeOptions{Height: 7, Width: 4}
	mixes := func(g graph, f mixer) values {
		pics, labels := ofOneLevel(5, 4, 6, 3)
		in := readers.Slices(g, readers.SlicesOptions{}, pics, labels)
		x, y := f(g, in[0], in[1], ops.MixOptions{Classes: 5})
		return values{x, y}
	}
	table := map[string]func(g graph) values{
		"Cast": func(g graph) values {
			v := pic(g)
			return values{ops.Cast(g, v, datum.Float64), ops.Cast(g, v, datum.Bool), ops.Cast(g, ragged(g, v), datum.Float16)}
		},
		"Constant": func(g graph) values { number(g); return values{ops.Constant(g, 3), ops.Constant(g, 3, 4)} },
		"Brightness": func(g graph) values {
			return values{ops.Brightness(g, pic(g), ops.BrightnessOptions{Brightness: ops.Uniform(g, 0, 2)})}
		},
		"BrightnessContrast": func(g graph) values {
			v := pic(g)
			return values{ops.BrightnessContrast(g, v, ops.BrightnessContrastOptions{}), ops.BrightnessContrast(g, ragged(g, v), ops.BrightnessContrastOptions{DType: datum.Float32})}
		},
		"Contrast": func(g graph) values {
			return values{ops.Contrast(g, pic(g), ops.ContrastOptions{Contrast: ops.Uniform(g, 0, 2)})}
		},
		"ColorTwist": func(g graph) values {
			v := pic(g)
			return values{ops.ColorTwist(g, v, ops.ColorTwistOptions{Hue: ops.Uniform(g, 0, 360)}), ops.ColorTwist(g, ragged(g, v), ops.ColorTwistOptions{DType: datum.Float16})}
		},
		"HSV":        func(g graph) values { return values{ops.HSV(g, pic(g), ops.HSVOptions{Value: ops.Constant(g, 2)})} },
		"Hue":        func(g graph) values { return values{ops.Hue(g, pic(g), ops.HueOptions{Hue: ops.Constant(g, 20)})} },
		"Saturation": func(g graph) values { return values{ops.Saturation(g, pic(g), ops.SaturationOptions{})} },
		"ColorSpaceConversion": func(g graph) values {
			v := pic(g)
			grey := ops.ColorSpaceConversion(g, v, ops.RGB, ops.Gray)
			return values{grey, ops.ColorSpaceConversion(g, ragged(g, v), ops.RGB, ops.YCbCr), ops.ColorSpaceConversion(g, grey, ops.Gray, ops.BGR)}
		},
		"Equalize": func(g graph) values { return values{ops.Equalize(g, pic(g))} },
		"WarpAffine": func(g graph) values {
			v, m := pic(g), ops.Constant(g, 1, 0.1, -2, 0, 1, 0.5)
			return values{
				ops.WarpAffine(g, v, ops.WarpAffineOptions{Matrix: m, Fill: ops.Constant(g, 9)}),
				ops.WarpAffine(g, ragged(g, v), ops.WarpAffineOptions{Matrix: m, Interp: ops.Nearest, Size: ops.Constant(g, 3, 8), DType: datum.Float32}),
			}
		},
		"Rotate": func(g graph) values {
			v := pic(g)
			return values{ops.Rotate(g, v, ops.RotateOptions{Angle: ops.Uniform(g, 0, 360)}), ops.Rotate(g, v, ops.RotateOptions{Angle: ops.Constant(g, 30), KeepSize: true})}
		},
		"TranslationMatrix": func(g graph) values {
			number(g)
			return values{ops.TranslationMatrix(g, ops.TranslationMatrixOptions{Offset: ops.Constant(g, 1, 2, 3)})}
		},
		"ScaleMatrix": func(g graph) values {
			number(g)
			return values{ops.ScaleMatrix(g, ops.ScaleMatrixOptions{Scale: ops.Constant(g, 2), NDim: 2})}
		},
		"RotationMatrix": func(g graph) values {
			number(g)
			return values{ops.RotationMatrix(g, ops.RotationMatrixOptions{Angle: ops.Constant(g, 2)})}
		},
		"ShearMatrix": func(g graph) values {
			number(g)
			return values{ops.ShearMatrix(g, ops.ShearMatrixOptions{Shear: ops.Constant(g, 2, 1)})}
		},
		"CropMatrix": func(g graph) values {
			number(g)
			return values{ops.CropMatrix(g, ops.CropMatrixOptions{ToEnd: ops.Constant(g, 2, 1)})}
		},
		"CombineMatrices": func(g graph) values {
			number(g)
			m := ops.RotationMatrix(g, ops.RotationMatrixOptions{Angle: ops.Constant(g, 2)})
			return values{ops.CombineMatrices(g, true, m, m, m)}
		},
		"GaussianBlur": func(g graph) values {
			v := pic(g)
			return values{ops.GaussianBlur(g, v, ops.GaussianBlurOptions{Sigma: ops.Uniform(g, 0.2, 3)}), ops.GaussianBlur(g, ragged(g, v), ops.GaussianBlurOptions{WindowSize: ops.Constant(g, 3, 1), DType: datum.Float32})}
		},
		"Laplacian": func(g graph) values {
			return values{ops.Laplacian(g, pic(g), ops.LaplacianOptions{Normalized: true, DType: datum.Float32})}
		},
		"Filter": func(g graph) values {
			v := pic(g)
			f := ops.TranslationMatrix(g, ops.TranslationMatrixOptions{Offset: ops.Constant(g, 3, 1)})
			return values{ops.Filter(g, v, ops.FilterOptions{Filter: f}), ops.Filter(g, v, ops.FilterOptions{Filter: f, Valid: true}), ops.Filter(g, ragged(g, v), ops.FilterOptions{Filter: f, Border: ops.BorderFill, Valid: true})}
		},
		"Erase": func(g graph) values {
			return values{ops.Erase(g, pic(g), ops.EraseOptions{Anchor: ops.Constant(g, 1, 1), Shape: ops.Constant(g, 2, 9)})}
		},
		"Pad": func(g graph) values {
			v := pic(g)
			return values{ops.Pad(g, v, ops.PadOptions{Shape: ops.Constant(g, 7)}), ops.Pad(g, ragged(g, v), ops.PadOptions{AxisNames: "HW", Align: ops.Constant(g, 4)})}
		},
		"Paste": func(g graph) values {
			return values{ops.Paste(g, pic(g), ops.PasteOptions{Ratio: ops.Uniform(g, 1, 2)})}
		},
		"MultiPaste": func(g graph) values {
			v := pic(g)
			return values{ops.MultiPaste(g, values{v, v}, ops.MultiPasteOptions{OutputSize: ops.Constant(g, 9, 9)}), ops.MultiPaste(g, values{ragged(g, v)}, ops.MultiPasteOptions{DType: datum.Int16})}
		},
		"GridMask": func(g graph) values {
			return values{ops.GridMask(g, pic(g), ops.GridMaskOptions{Tile: ops.Constant(g, 3)})}
		},
		"Water": func(g graph) values { return values{ops.Water(g, pic(g), ops.WaterOptions{})} },
		"Sphere": func(g graph) values {
			v := pic(g)
			return values{ops.Sphere(g, v, ops.SphereOptions{Interp: ops.Linear}), ops.Sphere(g, v, ops.SphereOptions{Mask: ops.CoinFlip(g, 0.5)})}
		},
		"JPEGCompressionDistortion": func(g graph) values {
			return values{ops.JPEGCompressionDistortion(g, pic(g), ops.Constant(g, 20))}
		},
		"LookupTable": func(g graph) values {
			return values{ops.LookupTable(g, pic(g), ops.LookupTableOptions{Keys: []int{3, 5}, Values: []float64{9, 8}, Default: 1})}
		},
		"DecodeCrop": func(g graph) values {
			return values{ops.DecodeCrop(g, encoded(g), ops.DecodeCropOptions{CropOptions: ops.CropOptions{Height: 9, Width: 8, PosX: ops.Uniform(g, 0, 1)}})}
		},
		"DecodeSlice": func(g graph) values {
			return values{ops.DecodeSlice(g, encoded(g), ops.DecodeSliceOptions{RelStart: ops.Constant(g, 0.2, 0.1), Shape: ops.Constant(g, 9, 8)})}
		},
		"PeekImageShape": func(g graph) values { return values{ops.PeekImageShape(g, encoded(g), ops.PeekImageShapeOptions{})} },
		"CoinFlip":       func(g graph) values { number(g); return values{ops.CoinFlip(g, 0.5)} },
		"Uniform":        func(g graph) values { number(g); return values{ops.Uniform(g, 0, 1)} },
		"Crop": func(g graph) values {
			v := pic(g)
			return values{ops.Crop(g, v, small.CropOptions), ops.Crop(g, v, beyond.CropOptions), ops.Crop(g, ragged(g, v), ops.CropOptions{Height: 9, Width: 2, OutOfBounds: ops.BoundsTrim})}
		},
		"CropMirrorNormalize": func(g graph) values {
			v := pic(g)
			return values{
				ops.CropMirrorNormalize(g, v, small), ops.CropMirrorNormalize(g, v, beyond), ops.CropMirrorNormalize(g, ragged(g, v), small),
				ops.CropMirrorNormalize(g, ops.Resize(g, v, size), small), ops.CropMirrorNormalize(g, ops.DecodeImage(g, fileOf(g, files[0], v), ops.DecodeOptions{}), small),
			}
		},
		"DecodeImage": func(g graph) values {
			v := encoded(g)
			return values{
				ops.DecodeImage(g, v, ops.DecodeOptions{}), ops.DecodeImage(g, v, ops.DecodeOptions{Type: ops.Gray}), ops.DecodeImage(g, v, ops.DecodeOptions{Type: ops.YCbCr}),
				ops.CropMirrorNormalize(g, ops.Resize(g, ops.DecodeImage(g, v, ops.DecodeOptions{}), size), small),
			}
		},
		"DecodeRandomCrop": func(g graph) values { return values{ops.DecodeRandomCrop(g, encoded(g), ops.RandomCropOptions{})} },
		"DeviceCropMirrorNormalize": func(g graph) values {
			small := small
			return values{ops.DeviceCropMirrorNormalize(g, ops.ToDevice(g, pic(g)), small)}
		},
		"DeviceDecodeImage": func(g graph) values {
			return values{ops.DeviceDecodeImage(g, encoded(g), ops.DeviceDecodeOptions{Height: 40, Width: 50})}
		},
		"FillEntropyIndex": func(g graph) values { return values{ops.FillEntropyIndex(g, encoded(g))} },
		"DeviceDecodeResize": func(g graph) values {
			return values{ops.DeviceDecodeResize(g, encoded(g), ops.DeviceDecodeResizeOptions{Resize: ops.ResizeOptions{Height: 9, Width: 8}})}
		},
		"DeviceOneHot": func(g graph) values {
			return values{ops.DeviceOneHot(g, ops.ToDevice(g, number(g)), ops.OneHotOptions{Classes: 3, IgnoreUnknown: true})}
		},
		"DeviceResize": func(g graph) values { return values{ops.DeviceResize(g, ops.ToDevice(g, pic(g)), size)} },
		"ToDevice":     func(g graph) values { return values{ops.ToDevice(g, pic(g))} },
		"Flip": func(g graph) values {
			v := pic(g)
			return values{ops.Flip(g, v, ops.FlipOptions{}), ops.Flip(g, ragged(g, v), ops.FlipOptions{Horizontal: ops.CoinFlip(g, 0.5), Vertical: ops.CoinFlip(g, 0.5)})}
		},
		"RemoteCut": func(g graph) values {
			return values{ops.RemoteCut(g, ops.Resize(g, ops.DecodeImage(g, encoded(g), ops.DecodeOptions{}), size))}
		},
		"Func": func(g graph) values {
			return ops.Func(g, ops.FuncOptions{Outputs: []datum.Spec{{DType: datum.Int32}}}, func(_ *datum.Sample, in, out []*datum.Tensor) error {
				return out[0].CopyFrom(in[0])
			}, number(g))
		},
		"Normalize": func(g graph) values {
			v := pic(g)
			return values{ops.Normalize(g, v, ops.NormalizeOptions{}), ops.Normalize(g, ragged(g, v), ops.NormalizeOptions{AxisNames: "HW", DType: datum.Int8})}
		},
		"OneHot": func(g graph) values {
			labels := readers.Slices(g, readers.SlicesOptions{}, readers.Rows([]int32{1, 0, 2}), readers.Rows(ramp(12), 2, 2))
			v := labels[0]
			all := values{ops.OneHot(g, labels[1], ops.OneHotOptions{Classes: 7, IgnoreUnknown: true, DType: datum.Int16, On: 300, Off: -2})}
			for dt := datum.Uint8; dt <= datum.Bool; dt++ {
				all = append(all, ops.OneHot(g, v, ops.OneHotOptions{Classes: 5, DType: dt}))
			}
			return all
		},
		"TrivialAugmentWide": func(g graph) values {
			v := pic(g)
			return values{ops.TrivialAugmentWide(g, v, ops.TrivialAugmentOptions{}), ops.TrivialAugmentWide(g, ragged(g, v), ops.TrivialAugmentOptions{AugmentOptions: ops.AugmentOptions{Interp: ops.Linear, Fill: 9}})}
		},
		"AutoAugment": func(g graph) values { return values{ops.AutoAugment(g, pic(g), ops.AutoAugmentOptions{})} },
		"AugMix": func(g graph) values {
			v := pic(g)
			return values{ops.AugMix(g, v, ops.AugMixOptions{}), ops.AugMix(g, ragged(g, v), ops.AugMixOptions{Width: 2, Depth: 4, Geometric: true})}
		},
		"ColorJitter": func(g graph) values {
			v, all := pic(g), ops.ColorJitterOptions{Brightness: [2]float64{0.5, 1.5}, Contrast: [2]float64{0.5, 1.5}, Saturation: [2]float64{0.5, 1.5}, Hue: [2]float64{-0.5, 0.5}}
			return values{ops.ColorJitter(g, v, ops.ColorJitterOptions{}), ops.ColorJitter(g, ragged(g, v), all)}
		},
		"RandomErasing": func(g graph) values {
			v := pic(g)
			planes := ops.CropMirrorNormalize(g, v, small)
			return values{ops.RandomErasing(g, ragged(g, v), ops.RandomErasingOptions{Fill: ops.Constant(g, 1, 2, 3)}), ops.RandomErasing(g, planes, ops.RandomErasingOptions{})}
		},
		"RandAugment": func(g graph) values { return values{ops.RandAugment(g, pic(g), ops.RandAugmentOptions{Ops: 4})} },
		"Mixup":       func(g graph) values { return mixes(g, ops.Mixup) },
		"CutMix":      func(g graph) values { return mixes(g, ops.CutMix) },
		"Resize": func(g graph) values {
			v := pic(g)
			all := values{ops.Resize(g, ragged(g, v), ops.ResizeOptions{Shorter: 9})}
			for _, f := range []ops.Interp{ops.Nearest, ops.Linear, ops.Triangular, ops.Cubic, ops.Lanczos3, ops.Gaussian} {
				all = append(all, ops.Resize(g, v, ops.ResizeOptions{Height: 3, Width: 11, Interp: f, DType: datum.Float32}))
			}
			return all
		},
		"External": func(g graph) values {
			return readers.External(g, readers.ExternalOptions{Outputs: []datum.Spec{{DType: datum.Int32}, {DType: datum.Bool, Shape: []int{-1}}},
				Seq: func(yield func(readers.Item, error) bool) {
					for i := range int32(5) {
						if !yield(readers.Item{i, make([]bool, i)}, nil) {
							return
						}
					}
				}})
		},
		"File": func(g graph) values {
			v, label := readers.File(g, readers.FileOptions{Root: root, Shuffle: true})
			return values{v, label}
		},
		"IDX": func(g graph) values {
			v, label := readers.IDX(g, readers.IDXOptions{Images: images, Labels: labels})
			return values{v, label}
		},
		"COCO": func(g graph) values {
			v, boxes, labels := readers.COCO(g, readers.COCOOptions{Pictures: readers.FileOptions{Name: "p", FS: place}, Annotations: "coco.json"})
			return values{v, boxes, labels}
		},
		"Pairs": func(g graph) values {
			v, label, mask := readers.Pairs(g, readers.PairsOptions{Pictures: readers.FileOptions{Name: "p", FS: place, Root: "pictures"}, Masks: "masks"})
			return values{v, label, mask}
		},
		"Shards": func(g graph) values {
			members, label := readers.Shards(g, readers.ShardsOptions{FS: place, Root: "shards", Members: []string{"ids", "image"}})
			return append(members, label)
		},
		"CSV": func(g graph) values {
			return readers.CSV(g, readers.CSVOptions{FS: tables, Columns: []readers.Field{{Name: "x*", DType: datum.Float32}, {Name: "t"}, {Name: "l", Label: true}}})
		},
		"JSONLines": func(g graph) values {
			return readers.JSONLines(g, readers.JSONLinesOptions{FS: tables, Columns: []readers.Field{{Name: "v"}, {Name: "t"}, {Name: "l", Label: true}, {Name: "n", DType: datum.Int16}}})
		},
		"NPY": func(g graph) values {
			return readers.NPY(g, readers.NPYOptions{Root: "../readers/testdata/npy", Arrays: []readers.Array{{File: "type_be_f4.npy"}, {File: "compressed.npz", Member: "x"}, {File: "plain.npz", Member: "y", Label: true}}})
		},
		"parquet.Read": func(g graph) values {
			return parquet.Read(g, pipeline.ReaderOptions{Shuffle: true}, parquet.Options{Root: "../readers/parquet/testdata/plain.parquet", Columns: []readers.Field{
				{Name: "bytes"}, {Name: "list"}, {Name: "matrix"}, {Name: "fixed", Shape: []int{4}}, {Name: "float64"}, {Name: "uint8", Label: true},
			}})
		},
		"Tokens": func(g graph) values {
			file := filepath.Join(t.TempDir(), "tokens.bin")
			require.NoError(t, os.WriteFile(file, []byte{11, 0, 12, 0, 13, 0, 14, 0, 15, 0}, 0o600))
			v := readers.Tokens(g, readers.TokensOptions{Files: []string{file}, Length: 2})
			return values{v.Tokens, v.Targets, v.Documents, v.Positions}
		},
		"Slices": func(g graph) values {
			return readers.Slices(g, readers.SlicesOptions{Shuffle: true}, readers.Rows([]float64{1, 2, 3}), readers.Ragged([][]int16{{1}, {}, {2, 3}}))
		},
	}
	maps.Copy(table, arrayOperators())
	require.Equal(t, graphFuncs(t, ".", "../readers"), slices.Sorted(maps.Keys(table)))
	for name, define := range table {
		t.Run(name, func(t *testing.T) {
			for _, exact := range []bool{false, true} {
				var want map[string][]array
				for _, d := range []dirt{{with: 0x55}, {with: 0xAA}} {
					got := d.delivered(t, pipeline.Options{BatchSize: 2, Workers: 2, Seed: 5, ExactRGB: exact}, func(g *pipeline.Graph) {
						for i, v := range define(g) {
							g.Output(string(rune('a'+i)), v)
						}
					})
					require.NotEmpty(t, got["a"])
					if want == nil {
						want = got
					}
					require.Equal(t, want, got)
				}
			}
		})
	}
}

// fileOf stands a file beside every sample of v.
func fileOf(g *pipeline.Graph, file []byte, v pipeline.Value) pipeline.Value {
	return ops.Func(g, ops.FuncOptions{Outputs: []datum.Spec{{DType: datum.Uint8, Shape: []int{-1}}}}, func(_ *datum.Sample, _, out []*datum.Tensor) error {
		mem, err := out[0].Resize(len(file))
		copy(mem, file)
		return err
	}, v)[0]
}

// graphFuncs returns the exported functions of packages that add operators to a graph, sorted;
// those of packages below with the name of their package.
func graphFuncs(t *testing.T, dirs ...string) (names []string) {
	t.Helper()
	for _, dir := range dirs {
		require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, path), nil, 0)
			if err != nil {
				return err
			}
			for _, decl := range f.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if !ok || fn.Recv != nil || !fn.Name.IsExported() || len(fn.Type.Params.List) == 0 {
					continue
				}
				if _, other := fn.Type.Results.List[0].Type.(*ast.StarExpr); other { // what helps to add one
					continue
				}
				if star, ok := fn.Type.Params.List[0].Type.(*ast.StarExpr); ok {
					if s, ok := star.X.(*ast.SelectorExpr); ok && s.Sel.Name == "Graph" {
						name := fn.Name.Name
						if in := filepath.Base(filepath.Dir(path)); in != "." {
							name = in + "." + name
						}
						names = append(names, name)
					}
				}
			}
			return nil
		}))
	}
	slices.Sort(names)
	return names
}

// A function or a reader that returns early, without its output, fails the sample and is
// named; so is one that made another shape, not the operator behind it.
func TestForgottenOutputsAreNamed(t *testing.T) {
	spec := []datum.Spec{{DType: datum.Float32, Shape: []int{2}}}
	put := func(i int64, n int, out *datum.Tensor) error {
		if i%5 == 3 && n == 0 {
			return nil
		}
		_, _ = out.Resize(max(n, 2)) // whose error is dropped
		return nil
	}
	for n, want := range map[int]string{0: "output 0 was not written; call Resize and fill it, or return an error", 3: "output 0: shape [3], the output was declared [2]"} {
		for name, define := range map[string]func(g *pipeline.Graph) pipeline.Value{
			"jitter": func(g *pipeline.Graph) pipeline.Value {
				v := readers.Slices(g, readers.SlicesOptions{}, readers.Rows(make([]int32, 20)))
				return ops.Func(g, ops.FuncOptions{Name: "jitter", Outputs: spec}, func(c *datum.Sample, _, out []*datum.Tensor) error {
					return put(c.Index(), n, out[0])
				}, v...)[0]
			},
			"table": func(g *pipeline.Graph) pipeline.Value {
				return readers.External(g, readers.ExternalOptions{Name: "table", Len: 20, Outputs: spec, Read: func(_ context.Context, i int64, out []*datum.Tensor) error {
					return put(i, n, out[0])
				}})[0]
			},
		} {
			for _, cast := range []bool{false, true} {
				_, err := epoch(t, pipeline.Options{BatchSize: 4, Workers: 2}, func(g *pipeline.Graph) {
					v := define(g)
					if cast {
						v = ops.Cast(g, ops.Cast(g, v, datum.Float64), datum.Float32)
					}
					g.Output("x", v)
				})
				var bad *pipeline.SampleError
				require.ErrorAs(t, err, &bad)
				require.Equal(t, name, bad.Op)
				require.EqualError(t, bad.Err, want)
			}
		}
	}
}
