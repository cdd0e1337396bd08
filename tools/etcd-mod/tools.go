//go:build tools

// Package tools names the programs that tools/kube builds for storage, so that `go mod tidy` keeps go.mod and go.sum complete.
package tools

import (
	_ "go.etcd.io/etcd/server/v3"
)
