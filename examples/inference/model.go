package main

import "math"

// model is what is run over the pictures: a function from rows to scores, a row of scores for each row,
// such as a session of onnxruntime_go whose input tensor gets the rows.
type model struct {
	columns []string // names of the scores
	run     func(rows [][]float32) ([][]float32, error)
}

// moments stands for a network: the mean and the deviation of each channel.
var moments = model{
	columns: []string{"mean_r", "mean_g", "mean_b", "std_r", "std_g", "std_b"},
	run: func(rows [][]float32) ([][]float32, error) {
		scores := make([][]float32, len(rows))
		for i, row := range rows {
			scores[i] = make([]float32, 6)
			for c := range 3 {
				scores[i][c], scores[i][3+c] = moment(row[c*side*side:][:side*side])
			}
		}
		return scores, nil
	},
}

func moment(vs []float32) (mean, deviation float32) {
	var sum, squares float64
	for _, v := range vs {
		sum += float64(v)
		squares += float64(v) * float64(v)
	}
	m := sum / float64(len(vs))
	return float32(m), float32(math.Sqrt(max(0, squares/float64(len(vs))-m*m)))
}
