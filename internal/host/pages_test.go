package host

import "testing"

// TestPages writes to what it was given and gets zeroes again behind giving it back.
func TestPages(t *testing.T) {
	const size = 1 << 20
	for range 3 {
		var p Pages
		a, b := p.Zeroed(size), p.Zeroed(size)
		for i := range a {
			if len(b) != size || a[i] != 0 || b[i] != 0 {
				t.Fatalf("byte %d of %d is %d and %d", i, len(b), a[i], b[i])
			}
			a[i], b[i] = 1, 2
		}
		if a[size-1] != 1 || b[0] != 2 {
			t.Error("two pieces share a byte")
		}
		for range 2 { // there is nothing to give back the second time
			if err := p.Free(); err != nil {
				t.Error(err)
			}
		}
	}
}
