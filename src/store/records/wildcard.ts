/**
 * Converts a name filter to a LIKE pattern with `\` as escape (completions §3): `*` is any text, `?` one character,
 * neither means "contains". In lower case, like stored names.
 */
export const likePattern = (filter: string): string => {
  const escaped = filter.toLowerCase().replace(/[\\%_]/g, '\\$&')
  // A run of stars equals one star and would be slower.
  return /[*?]/.test(filter) ? escaped.replace(/\*+/g, '%').replaceAll('?', '_') : `%${escaped}%`
}
