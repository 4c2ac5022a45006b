/** How far entries of the history were scrolled when they were left, by their key. They live as long as the page. */
const positions = new Map<unknown, number>()
let entry: unknown

/** ms that a page may take to become as long as it was. */
const MAX_WAIT_MS = 10_000
let stop = () => {}

/** For each change of the address, before the page shows it: notes how far the entry that was left is scrolled. */
export const noteEntry = (): void => {
  if (entry !== undefined) positions.set(entry, scrollY)
  entry = history.state?.entry
  if (entry !== undefined) return
  entry = Math.random()
  // Browsers limit how often.
  try {
    history.replaceState({ entry }, '')
  } catch {}
}

/**
 * Scrolls to where the entry was left, once the page is long enough, unless the reader does something first. An entry
 * that is new is shown from its top.
 */
export const restoreScroll = (): void => {
  stop()
  const top = positions.get(entry) ?? 0
  positions.delete(entry)
  const end = new AbortController()
  stop = () => end.abort()
  const scroll = () => {
    scrollTo(0, top)
    // What still loads above would move the page.
    if (scrollY >= top - 1 && document.querySelector('main [aria-busy="true"]') === null) stop()
  }
  const observer = new ResizeObserver(scroll)
  end.signal.addEventListener('abort', () => observer.disconnect())
  for (const event of ['wheel', 'touchstart', 'pointerdown', 'keydown'])
    addEventListener(event, stop, { signal: end.signal, passive: true })
  setTimeout(stop, MAX_WAIT_MS)
  observer.observe(document.body)
  scroll()
}
