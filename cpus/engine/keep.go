package engine

// Keep has the timing model's state stand where it can be kept, outside of what the memo remembers. Nothing
// of it shows in times.
func (e *Engine[C, P]) Keep() { e.Core.leave() }

// Renew drops everything that follows from state that was read: decoded code, and the copies of translations.
func (e *Engine[C, P]) Renew() {
	e.levels.Renew(len(e.ram))
	e.lose()
	e.forgetCode()
	e.ForgetTranslations()
}
