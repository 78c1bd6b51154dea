package targets

import (
	"sync"

	"kprobesim/image"
	"kprobesim/workloads"
)

// LoadImage returns a guest kernel of this program. Images do not change, so each is read once: that takes longer than to boot it.
func LoadImage(name string) (*image.Image, error) {
	if load, ok := ours()[name]; ok {
		return load()
	}
	return loadImage(name)
}

// ours has how to load each image of the program.
var ours = sync.OnceValue(func() map[string]func() (*image.Image, error) {
	all := map[string]func() (*image.Image, error){}
	for _, im := range workloads.List() {
		all[im.Name] = sync.OnceValues(func() (*image.Image, error) { return loadImage(im.Name) })
	}
	return all
})

func loadImage(name string) (*image.Image, error) {
	b, err := workloads.Open(name)
	if err != nil {
		return nil, err
	}
	return image.Load(name, b)
}
