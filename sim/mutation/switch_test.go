// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// This test checks what becomes of a function that two bugs change in the same
// line: it keeps its place, its lines and its comments, asks which bug is chosen
// first, and each bug has a copy of it.
func TestTwoBugsInOneLine(t *testing.T) {
	const product = `package p

// sum adds.
func (t T) sum(a, b int) (n int) {
	return a + b
}

func (t T) other() {}
`
	minus := version{Bug{Name: "sum-minus", Layer: "p"}, `package p

// sum adds.
func (t T) sum(a, b int) (n int) {
	return a - b
}

func (t T) other() {}
`}
	zero := version{Bug{Name: "sum-zero", Layer: "p"}, `package p

// sum adds.
func (t T) sum(a, b int) (n int) {
	return
}

func (t T) other() {}
`}
	got, err := withSwitches("p.go", product, []version{minus, zero})
	require.NoError(t, err)
	require.Equal(t, `package p

// sum adds.
func (t T) sum(a, b int) (n int) { if mutant_sum_minus { return t.sum_sum_minus(a, b) }; if mutant_sum_zero { return t.sum_sum_zero(a, b) };
	return a + b
}

func (t T) other() {}

//line sum-minus.diff:1
func (t T) sum_sum_minus(a, b int) (n int) {
	return a - b
}

//line sum-zero.diff:1
func (t T) sum_sum_zero(a, b int) (n int) {
	return
}
`, got)
}

// This test checks that functions of every shape are called as they were.
func TestCallsArePassedOn(t *testing.T) {
	for signature, want := range map[string]string{
		"f()":                                "f() { if mutant_a_b { f_a_b(); return };",
		"f(int, ...string) error":            "f(parameter0_0 int, parameter1_0 ...string) error { if mutant_a_b { return f_a_b(parameter0_0, parameter1_0...) };",
		"f(_ int, a, _ string) (int, error)": "f(parameter0_0 int, a, parameter1_1 string) (int, error) { if mutant_a_b { return f_a_b(parameter0_0, a, parameter1_1) };",
		"f[K comparable, V any](m map[K]V)":  "f[K comparable, V any](m map[K]V) { if mutant_a_b { f_a_b[K, V](m); return };",
		"(T) f(a int)":                       "(receiver0 T) f(a int) { if mutant_a_b { receiver0.f_a_b(a); return };",
		"(_ *T[K]) f()":                      "(receiver0 *T[K]) f() { if mutant_a_b { receiver0.f_a_b(); return };",
	} {
		file := func(body string) string { return "package p\n\nfunc " + signature + " {" + body + "}\n" }
		got, err := withSwitches("p.go", file(" g() "), []version{{Bug{Name: "a-b"}, file(" h() ")}})
		require.NoError(t, err, signature)
		require.Contains(t, got, "\nfunc "+want+" g() }\n", signature)
	}
}

// This test checks that a bug can't change what is called from elsewhere.
func TestABugChangesBodiesOnly(t *testing.T) {
	const product = "package p\n\nfunc f() {}\n"
	for _, text := range []string{"package p\n\nfunc f(int) {}\n", "package p\n\nvar x int\n\nfunc f() {}\n", "package p\n\nfunc f() {"} {
		_, err := withSwitches("p.go", product, []version{{Bug{Name: "a-b", Layer: "p"}, text}})
		require.ErrorContains(t, err, "sim/mutation/bugs/p/a-b.diff", text)
	}
}
