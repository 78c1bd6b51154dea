package schema_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// TestWork has several goroutines ask for the same: it is made once. What was asked for long ago is made again.
func TestWork(t *testing.T) {
	var w schema.Work
	var mu sync.Mutex
	made := map[string]int{}
	get := func(key string) {
		v, err := w.Do(key, func() (any, error) {
			mu.Lock()
			defer mu.Unlock()
			made[key]++
			return key, errors.New(key)
		})
		require.That(t, v == key && fmt.Sprint(err) == key, "%s: %v, %v", key, v, err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { get("a") })
	}
	wg.Wait()
	get("b")
	get("a")
	require.That(t, made["a"] == 1 && made["b"] == 1, "made %v", made)
	get("c")
	get("d")
	get("b")
	require.That(t, made["a"] == 1 && made["b"] == 2, "three are kept, and made is %v", made)
}

// TestHaltedWork ends the point that makes something: others that wait for it make it themselves, and so do later ones.
func TestHaltedWork(t *testing.T) {
	var w schema.Work
	begun, ends := make(chan struct{}), make(chan struct{})
	halted := &sim.HaltedError{Reason: errors.New("enough")}
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := w.Do("a", func() (any, error) {
			close(begun)
			<-ends
			return nil, fmt.Errorf("boot: %w", halted)
		})
		require.That(t, errors.Is(err, halted), "the point that was ended: %v", err)
	})
	<-begun
	wg.Go(func() {
		v, err := w.Do("a", func() (any, error) { return "made", nil })
		require.That(t, v == "made" && err == nil, "the point that waited: %v, %v", v, err)
	})
	close(ends)
	wg.Wait()
	v, err := w.Do("a", func() (any, error) { return "again", nil })
	require.That(t, v == "made" && err == nil, "a later point: %v, %v", v, err)
}
