//go:build ignore

// This program writes flats.csv, a table of 1,000 invented flats.
package main

import (
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"strings"
)

func main() {
	rng := rand.New(rand.NewPCG(1, 1))
	var csv strings.Builder
	fmt.Fprintln(&csv, "area_m2,rooms,floor,year_built,km_to_centre,rent")
	for range 1000 {
		area := 20 + 120*rng.Float64()*rng.Float64()
		rooms := 1 + int(area/30+rng.Float64())
		floor := rng.IntN(8)
		year := 1900 + rng.IntN(125)
		km := 15 * rng.Float64()

		perSquareMetre := 7 + 9*math.Exp(-km/4) + 3*math.Pow(float64(year-1960)/60, 2)
		rent := area*perSquareMetre + 15*float64(rooms) + 40*math.Sqrt(float64(floor))
		rent *= 1 + 0.03*rng.NormFloat64()
		fmt.Fprintf(&csv, "%.0f,%d,%d,%d,%.1f,%.0f\n", area, rooms, floor, year, km, rent)
	}
	if err := os.WriteFile("flats.csv", []byte(csv.String()), 0o666); err != nil {
		log.Fatal(err)
	}
}
