/**
 * A name filter as a LIKE pattern with `\` as escape (completions §3): `*` any text, `?` one character, neither:
 * contains. In lower case, as names are kept.
 */
export const likePattern = (filter: string): string => {
  const escaped = filter.toLowerCase().replace(/[\\%_]/g, '\\$&')
  // A run of stars says no more than one, and would cost more.
  return /[*?]/.test(filter) ? escaped.replace(/\*+/g, '%').replaceAll('?', '_') : `%${escaped}%`
}
