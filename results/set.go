package results

import (
	"fmt"
	"iter"
	"slices"
)

// Set is an ordered collection of records in which a point has each metric at most once. The order
// is the order of adding, so points that run in parallel are added in the order of the plan.
// The zero Set is empty and ready.
//
// A sweep has millions of records, so a record is kept as what it does not share with others: about 40 bytes.
type Set struct {
	// Overrides are the settings ("key=value") under which everything in the set was observed.
	Overrides []string
	// Axes are the swept keys that have columns of their own.
	Axes []Axis
	// Wish is how the user wants figures to be.
	Wish Wish

	points  []Point // in the order of their first records
	first   []int32 // first record of each point
	numbers map[Point]int32
	words   []string // metrics, units, roles and sources, each once
	wordNo  map[string]uint16
	kept    []keptRecord
	spreads map[int32]Interval // of the records of means
}

// keptRecord is a record in a Set. Words are numbers in its list of words.
type keptRecord struct {
	value                      int64
	point, next                int32 // next is the next record of the point, 0 for none
	metric, unit, role, source uint16
	decimals                   uint8
}

// mostWords bounds the distinct metrics, units, roles and sources of a set.
const mostWords = 1 << 16

// Add appends records. It stops at the first that is malformed or already there.
func (s *Set) Add(records ...Record) error {
	for _, r := range records {
		if err := r.validate(); err != nil {
			return fmt.Errorf("record %s: %w", r, err)
		}
		if err := s.add(r); err != nil {
			return fmt.Errorf("record %s %w", r, err)
		}
	}
	return nil
}

// add appends a valid record.
func (s *Set) add(r Record) error {
	last := int32(-1)
	if n, known := s.numbers[r.Point]; known {
		for i := s.first[n]; i >= 0; i = s.after(i) {
			if last = i; s.words[s.kept[i].metric] == r.Metric {
				return fmt.Errorf("is there twice")
			}
		}
	}
	if len(s.words) > mostWords-4 {
		return fmt.Errorf("is one of more than %d metrics and sources", mostWords)
	}
	if r.Spread != (Interval{}) {
		if s.spreads == nil {
			s.spreads = map[int32]Interval{}
		}
		s.spreads[int32(len(s.kept))] = r.Spread
	}
	here := int32(len(s.kept))
	k := keptRecord{
		value: r.Value.micros, decimals: r.Value.decimals, point: s.number(r.Point, here),
		metric: s.word(r.Metric), unit: s.word(r.Unit), role: s.word(string(r.Role)), source: s.word(r.Source),
	}
	s.kept = append(s.kept, k)
	if last >= 0 {
		s.kept[last].next = here
	}
	return nil
}

// number returns the number of a point, a new one for a point whose first record is number first.
func (s *Set) number(p Point, first int32) int32 {
	n := place(&s.numbers, &s.points, p)
	if int(n) == len(s.first) {
		s.first = append(s.first, first)
	}
	return n
}

// word returns the number of a word.
func (s *Set) word(text string) uint16 { return place(&s.wordNo, &s.words, text) }

// place returns the number of something in a list, at whose end it is put when it is not there yet.
func place[K comparable, N int32 | uint16](numbers *map[K]N, list *[]K, k K) N {
	n, known := (*numbers)[k]
	if known {
		return n
	}
	if *numbers == nil {
		*numbers = map[K]N{}
	}
	n = N(len(*list))
	(*numbers)[k] = n
	*list = append(*list, k)
	return n
}

// after returns the next record of the same point, -1 for none.
func (s *Set) after(i int32) int32 {
	if next := s.kept[i].next; next != 0 {
		return next
	}
	return -1
}

// record returns record number i.
func (s *Set) record(i int32) Record {
	k := &s.kept[i]
	return Record{
		Point: s.points[k.point], Metric: s.words[k.metric], Unit: s.words[k.unit], Value: Value{k.value, k.decimals},
		Role: Role(s.words[k.role]), Source: s.words[k.source], Spread: s.spreads[i],
	}
}

// Len returns the number of records.
func (s *Set) Len() int { return len(s.kept) }

// All goes through the records in order.
func (s *Set) All() iter.Seq[Record] {
	return func(yield func(Record) bool) {
		for i := range s.kept {
			if !yield(s.record(int32(i))) {
				return
			}
		}
	}
}

// Has reports whether any record is one that f looks for.
func (s *Set) Has(f func(Record) bool) bool {
	for r := range s.All() {
		if f(r) {
			return true
		}
	}
	return false
}

// Get returns the record of a metric at a point.
func (s *Set) Get(p Point, metric string) (Record, bool) {
	n, known := s.numbers[p]
	word, said := s.wordNo[metric]
	if !known || !said {
		return Record{}, false
	}
	for i := s.first[n]; i >= 0; i = s.after(i) {
		if s.kept[i].metric == word {
			return s.record(i), true
		}
	}
	return Record{}, false
}

// Points returns every point once, in the order of its first record.
func (s *Set) Points() []Point { return slices.Clone(s.points) }

// At goes through the records of a point in order.
func (s *Set) At(p Point) iter.Seq[Record] {
	return func(yield func(Record) bool) {
		n, known := s.numbers[p]
		if !known {
			return
		}
		for i := s.first[n]; i >= 0 && yield(s.record(i)); {
			i = s.after(i)
		}
	}
}

// Only returns the points for which keep says so, with their records.
func (s *Set) Only(keep func(Point) bool) *Set {
	out := &Set{Overrides: s.Overrides, Axes: s.Axes, Wish: s.Wish}
	for r := range s.All() {
		if keep(r.Point) {
			_ = out.add(r) // it is in s
		}
	}
	return out
}

// Sources returns the distinct sources in the order of their first record.
func (s *Set) Sources() (sources []string) {
	seen := make([]bool, len(s.words))
	for i := range s.kept {
		if n := s.kept[i].source; !seen[n] && s.words[n] != "" {
			seen[n] = true
			sources = append(sources, s.words[n])
		}
	}
	return sources
}
