/** An entry of the palette. */
export interface Entry {
  readonly label: string
  /** `Screen`, `Action`, or the kind of entity. */
  readonly kind: string
  /** The hash that it opens, or what it does. */
  readonly to: string | (() => unknown)
}

/** Entries with all words of a text: those that begin with it, those with a word that does, then others. */
export const rank = (entries: readonly Entry[], text: string): readonly Entry[] => {
  const wanted = text.trim().toLowerCase()
  const words = wanted.split(/\s+/)
  const placeOf = (name: string) => (name.startsWith(wanted) ? 0 : name.includes(` ${wanted}`) ? 1 : 2)
  return entries
    .map((entry) => ({ entry, name: entry.label.toLowerCase() }))
    .filter(({ name }) => words.every((word) => name.includes(word)))
    .sort((a, b) => placeOf(a.name) - placeOf(b.name))
    .map(({ entry }) => entry)
}
