package targets

import (
	"bytes"
	"strings"
	"testing"

	"kprobesim/image"
	"kprobesim/workloads"
)

// Every image of every target has what Go code looks up in it, and one without a symbol is refused by that
// symbol's name.
func TestImagesAreComplete(t *testing.T) {
	for _, target := range List() {
		for _, w := range target.Images {
			b, err := workloads.Open(w.Name)
			if err != nil {
				t.Fatal(err)
			}
			if err := complete(load(t, w.Name, b)); err != nil {
				t.Error(err)
			}
			b = bytes.Replace(b, []byte("barrier_wait\x00"), []byte("barrier_wAit\x00"), -1)
			err = complete(load(t, w.Name, b))
			want := "image " + w.Name + " is not complete: no symbol barrier_wait, which measuring needs"
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("without barrier_wait: %v, want %q", err, want)
			}
		}
	}
}

func load(t *testing.T, name string, b []byte) *image.Image {
	t.Helper()
	im, err := image.Load(name, b)
	if err != nil {
		t.Fatal(err)
	}
	return im
}
