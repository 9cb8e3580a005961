// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"image/color"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/arke-mesh/arke/bench/driver"
)

const (
	plotWidth = 9 * vg.Inch
	plotLine  = 0.3 * vg.Inch // of a bar
)

// Plots draws each workload into dir and returns the names of the files: bars
// of rates for topics, percentiles for requests.
func Plots(dir string, samples []driver.Sample) (files []string, err error) {
	for _, name := range names(samples, func(s driver.Sample) string { return s.Workload }) {
		of := only(samples, func(s driver.Sample) bool { return s.Workload == name && s.Failed == "" })
		if len(of) == 0 {
			continue
		}
		draw := rateBars
		if len(of[0].Latency) > 0 {
			draw = percentiles
		}
		p, height, err := draw(of)
		if err != nil {
			return files, err
		}
		p.Title.Text = name
		if w, ok := driver.FindWorkload(name); ok {
			p.Title.Text = w.About
		}
		file := name + ".svg"
		if err := p.Save(plotWidth, height, filepath.Join(dir, file)); err != nil {
			return files, err
		}
		files = append(files, file)
	}
	return files, nil
}

// rateBars has a bar for each system, with a line from its least to its most.
func rateBars(samples []driver.Sample) (*plot.Plot, vg.Length, error) {
	systems := names(samples, func(s driver.Sample) string { return s.System })
	slices.Reverse(systems) // the first one is to be on top
	p := plot.New()
	p.X.Label.Text = "messages delivered a second, thousands: median, least and most"
	p.X.Min = 0
	var spans plotter.XYs
	var errs plotter.XErrors
	for i, name := range systems {
		of := only(samples, func(s driver.Sample) bool { return s.System == name })
		rates := make([]float64, len(of))
		for j, s := range of {
			rates[j] = s.Rate / 1e3
		}
		median, least, most := spread(rates)
		bar, err := plotter.NewBarChart(plotter.Values{median}, plotLine*2/3)
		if err != nil {
			return nil, 0, err
		}
		bar.Horizontal, bar.XMin, bar.LineStyle.Width = true, float64(i), 0
		bar.Color = colorOf(name)
		p.Add(bar)
		spans = append(spans, plotter.XY{X: median, Y: float64(i)})
		errs = append(errs, struct{ Low, High float64 }{least - median, most - median})
	}
	lines, err := plotter.NewXErrorBars(struct {
		plotter.XYs
		plotter.XErrors
	}{spans, errs})
	if err != nil {
		return nil, 0, err
	}
	p.Add(lines)
	p.NominalY(systems...)
	return p, vg.Inch + plotLine*vg.Length(len(systems)), nil
}

// colorOf sets Arke apart from its peers.
func colorOf(system string) color.Color {
	if strings.HasPrefix(system, "arke") {
		return color.RGBA{R: 0x1f, G: 0x6f, B: 0xb4, A: 0xff}
	}
	return color.RGBA{R: 0xb0, G: 0xb0, B: 0xb0, A: 0xff}
}

// percentiles has a line for each system: all rounds together, up to the last
// percentile with enough samples beyond it.
func percentiles(samples []driver.Sample) (*plot.Plot, vg.Length, error) {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "percentile", "latency, ms"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = nines{}, plot.LogTicks{Prec: -1}
	p.Add(plotter.NewGrid())
	p.Legend.Top, p.Legend.Left = true, true
	p.X.Min, p.X.Max = 1, 100
	for i, name := range names(samples, func(s driver.Sample) string { return s.System }) {
		h := merged(only(samples, func(s driver.Sample) bool { return s.System == name }))
		if h == nil || h.TotalCount() == 0 {
			continue
		}
		var points plotter.XYs
		for x := 1.0; ; x *= 1.1 { // x is one over the share of samples beyond
			q := 100 * (1 - 1/x)
			if !told(h, q) {
				break
			}
			points = append(points, plotter.XY{X: x, Y: float64(max(h.ValueAtQuantile(q), 1)) / 1e6})
			p.X.Max = math.Max(p.X.Max, x)
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			continue // too few samples
		}
		line.Color, line.Dashes, line.Width = plotutil.Color(i), plotutil.Dashes(i/7), vg.Points(1.5)
		p.Add(line)
		p.Legend.Add(name, line)
	}
	return p, 5 * vg.Inch, nil
}

// nines labels 1, 10, 100 as the percentiles 0, 90, 99 and so on.
type nines struct{}

// Ticks implements plot.Ticker.
func (nines) Ticks(low, high float64) (ticks []plot.Tick) {
	for _, q := range []float64{0, 50, 90, 99, 99.9, 99.99, 99.999} {
		if x := 100 / (100 - q); x >= low*0.99 && x <= high*1.01 {
			ticks = append(ticks, plot.Tick{Value: x, Label: strconv.FormatFloat(q, 'f', -1, 64)})
		}
	}
	return ticks
}
