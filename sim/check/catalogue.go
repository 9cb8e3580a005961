// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

// MetricInfo describes a metric.
type MetricInfo struct {
	Name    string `json:"name"`
	Unit    Unit   `json:"unit"`
	Meaning string `json:"meaning"`
}

// Metrics describes every metric there is, in an order for people. The caller
// owns the result.
func Metrics() []MetricInfo { return nil }
