package readers

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

func TestPairs(t *testing.T) {
	pictures := filesIn(t, "cat/a.jpg", "cat/b.jpg", "dog/a.b.jpeg")
	masks := filesIn(t, "dog/a.b_m.png", "cat/b_m.png", "cat/a_m.png", "cat/other_m.png")
	p, err := pipeline.New(pipeline.Options{BatchSize: 2, Seed: 3}, func(g *pipeline.Graph) {
		picture, label, mask := Pairs(g, PairsOptions{Pictures: FileOptions{Name: "pictures", Root: pictures, Shuffle: true}, Masks: masks, Suffix: "_m"})
		g.Output("picture", picture)
		g.Output("label", label)
		g.Output("mask", mask)
	})
	require.NoError(t, err)
	require.Equal(t, p.Readers()[0], p.Readers()[1].Leader())
	require.NoError(t, epoch(t, p, func(b *pipeline.Batch) {
		for row := range b.Size() {
			name := withoutEnding(string(b.Sample("picture", row).Bytes()))
			require.Equal(t, name+"_m.png", string(b.Sample("mask", row).Bytes()))
		}
	}))
}

func TestPairsThatAreRefused(t *testing.T) {
	pictures := FileOptions{Name: "pictures", Root: filesIn(t, "a.jpg", "b.jpg")}
	for want, o := range map[string]PairsOptions{
		"b.jpg has no mask: there is no b in ":              {Pictures: pictures, Masks: filesIn(t, "a.png")},
		"a.bmp and a.png are masks of the same picture":     {Pictures: pictures, Masks: filesIn(t, "a.bmp", "a.png"), Extensions: []string{"png", "bmp"}},
		"Masks is not given":                                {Pictures: pictures},
		"the reader of the pictures has no Name; give one,": {Masks: "x"},
		"Masks: Root ": {Pictures: pictures, Masks: t.TempDir() + "x"},
	} {
		require.ErrorContains(t, buildError(t, func(g *pipeline.Graph) []pipeline.Value {
			a, b, c := Pairs(g, o)
			return []pipeline.Value{a, b, c}
		}), want)
	}
}

// cocoJSON is a small file of annotations, whose parts a test may change.
func cocoJSON(t testing.TB, change func(map[string]any)) string {
	file := map[string]any{
		"info":   map[string]any{"year": 2026, "images": []int{1}},
		"images": []any{map[string]any{"id": 7, "file_name": "b.jpg", "height": 5}, map[string]any{"id": 3, "file_name": "d/a.jpg"}, map[string]any{"id": 5, "file_name": "c.jpg"}},
		"annotations": []any{
			map[string]any{"id": 1, "image_id": 3, "category_id": 90, "bbox": []float64{1, 2.5, 3, 4}, "iscrowd": 0, "segmentation": []any{[]int{1, 2}}},
			map[string]any{"id": 2, "image_id": 7, "category_id": 2, "bbox": []float64{0, 0, 9, 9}},
			map[string]any{"id": 3, "image_id": 3, "category_id": 2, "bbox": []float64{5, 6, 7, 8}},
			map[string]any{"id": 4, "image_id": 5, "category_id": 2, "bbox": []float64{5, 6, 7, 8}, "iscrowd": 1},
		},
		"categories": []any{map[string]any{"id": 90, "name": "brush"}, map[string]any{"id": 2, "name": "car"}},
	}
	if change != nil {
		change(file)
	}
	text, err := json.Marshal(file)
	require.NoError(t, err)
	return string(text)
}

func cocoIn(o COCOOptions) func(*pipeline.Graph) []pipeline.Value {
	return func(g *pipeline.Graph) []pipeline.Value {
		a, b, c := COCO(g, o)
		return []pipeline.Value{a, b, c}
	}
}

func TestCOCO(t *testing.T) {
	root := tree(t, map[string]string{"b.jpg": "b", "d/a.jpg": "a", "c.jpg": "c", "x.json": cocoJSON(t, nil)})
	o := COCOOptions{Pictures: FileOptions{Name: "p", Root: root}, Annotations: root + "/x.json"}
	p, err := build(3, 1, cocoIn(o))
	require.NoError(t, err)
	require.Equal(t, []string{"car", "brush"}, p.Readers()[1].Meta().Classes)
	require.NoError(t, epoch(t, p, func(b *pipeline.Batch) {
		require.Equal(t, "bac", string(b.Sample("0", 0).Bytes())+string(b.Sample("0", 1).Bytes())+string(b.Sample("0", 2).Bytes()))
		require.Equal(t, []float32{1, 2.5, 3, 4, 5, 6, 7, 8}, b.Sample("1", 1).Float32s())
		require.Equal(t, []int{2, 4}, b.Sample("1", 1).Shape())
		require.Equal(t, []int32{1, 0}, b.Sample("2", 1).Int32s())
		require.Equal(t, []int{0, 4}, b.Sample("1", 2).Shape(), "no object but a crowd")
	}))

	o.NoEmpty = true
	p, err = build(2, 1, cocoIn(o))
	require.NoError(t, err)
	require.EqualValues(t, 2, p.Readers()[0].Len())
	o.Crowds = true
	p, err = build(3, 1, cocoIn(o))
	require.NoError(t, err)
	require.EqualValues(t, 3, p.Readers()[0].Len())

	s, err := o.open()
	require.NoError(t, err)
	require.Equal(t, "d/a.jpg", s.Describe(1))
	withTensors(t, s, func(out []*datum.Tensor) error { return s.Read(context.Background(), 1, out) })
}

func TestCOCOThatIsRefused(t *testing.T) {
	put := func(key string, value any) func(map[string]any) {
		return func(file map[string]any) { file[key] = value }
	}
	annotation := func(image, category int, box ...float64) func(map[string]any) {
		return put("annotations", []any{map[string]any{"id": 9, "image_id": image, "category_id": category, "bbox": box}})
	}
	for want, text := range map[string]string{
		"annotation 9 is of image 4, which is not among the images":         cocoJSON(t, annotation(4, 2, 1, 2, 3, 4)),
		"annotation 9 has category 4, which is not among the categories":    cocoJSON(t, annotation(3, 4, 1, 2, 3, 4)),
		"annotation 9 has a bbox of 3 numbers; want x, y, width and height": cocoJSON(t, annotation(3, 2, 1, 2, 3)),
		"annotation 9 has the bbox [1 2 -3 4]; want x, y, width and height": cocoJSON(t, annotation(3, 2, 1, 2, -3, 4)),
		"the file names no images":                                          cocoJSON(t, put("images", []any{})),
		"the file has no annotations; give one of objects":                  cocoJSON(t, put("annotations", []any{})),
		"two categories have the id 2":                                      cocoJSON(t, put("categories", []any{map[string]any{"id": 2}, map[string]any{"id": 2}})),
		"image 3 has no file_name":                                          cocoJSON(t, put("images", []any{map[string]any{"id": 3}})),
		"the file ends too early: it was cut off; copy it again":            cocoJSON(t, nil)[:200],
		"byte 1: [, where { is expected":                                    "[]",
	} {
		dir := tree(t, map[string]string{"x.json": text})
		err := buildError(t, cocoIn(COCOOptions{Pictures: FileOptions{Name: "p", Root: dir}, Annotations: dir + "/x.json"}))
		require.ErrorContains(t, err, "x.json: "+want)
	}
}

func FuzzCOCO(f *testing.F) {
	f.Add(cocoJSON(f, nil))
	f.Add(`{"images":[{"id":1,"file_name":"a"}],"annotations":[{"image_id":1,"bbox":[1,1,1,1e39]}],"categories":[{"id":0}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		a, err := readCOCO(strings.NewReader(text), &COCOOptions{})
		if err != nil {
			return
		}
		s := newCOCOSource(a)
		if len(s.first) != len(a.files)+1 || s.first[len(a.files)] != len(a.objects) {
			t.Fatalf("%d pictures, %d objects, begin at %v", len(a.files), len(a.objects), s.first)
		}
		for _, l := range s.labels {
			if l < 0 || int(l) >= len(a.classes) {
				t.Fatalf("label %d of %d classes", l, len(a.classes))
			}
		}
	})
}
