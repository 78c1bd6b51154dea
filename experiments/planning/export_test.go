package planning

// Forget drops the files that were read, so that the next plan reads them again.
func (l *Loader) Forget() { clear(l.wholes) }
