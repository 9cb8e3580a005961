// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package svg_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/report/internal/markup"
	"github.com/arke-mesh/arke/sim/report/internal/svg"
)

func labels(ticks []svg.Tick) (all []string) {
	for _, t := range ticks {
		all = append(all, t.Label)
	}
	return all
}

// TestDrawingIsEscapedAndShort proves the text of a drawing: classes, titles,
// escapes, coordinates with one decimal at most.
func TestDrawingIsEscapedAndShort(t *testing.T) {
	c := svg.New(100, 50, `a "label"`)
	c.Time("1 2")
	c.Rect(1, 2.04, 3.25, -4, "bar", "<title>")
	c.Line(0, 0, 10, -0.01, "grid")
	c.Text(5, 6, svg.End, "axis", "a < b & c")
	var p, none svg.Path
	p.Move(0, 0)
	p.To(1.26, 2)
	p.Across(3)
	p.Up(4)
	p.Box(1, 1, 2, 2)
	p.Close()
	c.Path(&p, "line", "")
	c.Path(&none, "line", "")
	c.Grow(60)
	c.Grow(10)
	require.Equal(t, `<svg viewBox="0 0 100 60" role="img" aria-label="a &#34;label&#34;" data-time="1 2">`+
		`<rect x="1" y="2" width="3.2" height="0" class="bar"><title>&lt;title&gt;</title></rect>`+
		`<line x1="0" y1="0" x2="10" y2="0" class="grid"/>`+
		`<text x="5" y="6" text-anchor="end" class="axis">a &lt; b &amp; c</text>`+
		`<path d="M0 0L1.3 2H3V4M1 1h2v2h-2zZ" class="line"/></svg>`, markup.String(c.Node()))
}

// TestTextIsCutBeforeItIsTooWide proves that Fit never exceeds its width, and
// says nothing rather than a letter.
func TestTextIsCutBeforeItIsTooWide(t *testing.T) {
	text := "cut a1,a2,a3,a4,a5 … (17) → b1"
	require.Equal(t, text, svg.Fit(text, 1000, 11))
	require.Empty(t, svg.Fit(text, 10, 11))
	for w := 20.0; w < 200; w += 3 {
		require.LessOrEqual(t, svg.Width(svg.Fit(text, w, 11), 11), w)
	}
	c := svg.New(10, 10, "")
	require.False(t, c.FitText(0, 0, 5, 11, svg.Start, "small", text))
	require.True(t, c.FitText(0, 0, 80, 11, svg.Start, "small", text))
	require.Contains(t, markup.String(c.Node()), "<title>"+text+"</title>cut a1,a")
}

// TestScalesPutValuesInPlace proves both kinds of scale and their edges.
func TestScalesPutValuesInPlace(t *testing.T) {
	s := svg.Linear(0, 10, 100, 200)
	require.InDelta(t, 150, s.At(5), 1e-9)
	require.InDelta(t, 100, s.At(-5), 1e-9)
	require.InDelta(t, 200, s.At(50), 1e-9)
	l := svg.Log(1, 1000, 300, 0)
	require.InDelta(t, 200, l.At(10), 1e-9)
	require.InDelta(t, 300, l.At(0), 1e-9)
	require.InDelta(t, 0, svg.Linear(3, 3, 0, 1).At(3), 1e-9)
}

// TestTicksAreReadable proves labels of the axes.
func TestTicksAreReadable(t *testing.T) {
	require.Equal(t, []string{"0", "10 s", "20 s", "30 s", "40 s", "50 s", "60 s", "70 s"}, labels(svg.TimeTicks(70*time.Second, 12)))
	require.Equal(t, []string{"0", "0.2 s", "0.4 s", "0.6 s", "0.8 s", "1 s"}, labels(svg.TimeTicks(time.Second, 8)))
	require.Equal(t, []string{"0", "5 min", "10 min"}, labels(svg.TimeTicks(12*time.Minute, 4)))
	require.Equal(t, []string{"1 ms", "2 ms", "5 ms", "10 ms", "20 ms", "50 ms", "100 ms"}, labels(svg.LogTicks(1, 100)))
	require.Equal(t, []string{"100 µs", "", "", "1 ms", "", "", "10 ms", "", "", "100 ms", "", "", "1 s"}, labels(svg.LogTicks(0.1, 1000)))
	require.Equal(t, 500*time.Millisecond, svg.Step(70*time.Second, 160))
	require.Positive(t, svg.Step(1000*24*time.Hour, 10))
}

// TestNumbersAreWrittenForPeople proves the formats.
func TestNumbersAreWrittenForPeople(t *testing.T) {
	for want, got := range map[string]string{
		"0": svg.Millis(0), "250 µs": svg.Millis(0.25), "1.5 ms": svg.Millis(1.5), "999 ms": svg.Millis(999.2), "1 s": svg.Millis(999.7),
		"12.3 s": svg.Millis(12_345), "16.7 min": svg.Millis(1_000_000),
		"950": svg.Amount(950), "12.4 k": svg.Amount(12_400), "1 M": svg.Amount(999_999), "2 G": svg.Amount(2e9),
		"812 B": svg.Size(812), "14.2 KB": svg.Size(14_200), "3 MB": svg.Size(3e6),
		"7": svg.Grouped(7), "-1,000": svg.Grouped(-1000), "200,000": svg.Grouped(200_000), "1,234,567": svg.Grouped(1_234_567),
	} {
		require.Equal(t, want, got)
	}
}

// TestLargestTickCoversTheValue proves that scales end at readable values.
func TestLargestTickCoversTheValue(t *testing.T) {
	for v, want := range map[float64]float64{0: 1, 1: 1, 1.1: 2, 2.2: 2.5, 3: 5, 6: 10, 0.03: 0.05, 1234: 2000} {
		require.InEpsilon(t, want, svg.NiceMax(v), 1e-9)
	}
}
