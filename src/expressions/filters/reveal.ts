import { charArg, countArg, type FilterRules, type InnerFilter, setArg, textOf } from './filter.ts'

/** Masks all characters except those in `keep` and those at positions where `shown` is true. */
const masked = (
  characters: readonly string[],
  char: string,
  keep: ReadonlySet<string>,
  shown: (at: number) => boolean,
) => characters.map((character, at) => (shown(at) || keep.has(character) ? character : char)).join('')

/** Characters that `reveal_last` does not mask. */
const DASH: ReadonlySet<string> = new Set('-')

/** `last4`: the last four characters; shorter text unchanged. */
const last4: InnerFilter = (value, _args, name) => [...textOf(value, name).slice(-8)].slice(-4).join('')

/** `reveal_last: n, char='X'`: masks all but the last n characters and `-`; text of at most n characters unchanged. */
const revealLast: InnerFilter = (value, args, name) => {
  const characters = [...textOf(value, name)]
  const from = characters.length - countArg(args, 0, name)
  return masked(characters, charArg(args, 1, name, 'X'), DASH, (at) => at >= from)
}

/** `reveal: first=0, last=0, char='X', keep=''`: masks everything when the result would show the complete text. */
const reveal: InnerFilter = (value, args, name) => {
  const characters = [...textOf(value, name)]
  const first = countArg(args, 0, name, 0)
  const last = countArg(args, 1, name, 0)
  const char = charArg(args, 2, name, 'X')
  const keep = setArg(args, 3, name)
  const all = () => char.repeat(characters.length)
  if (first + last >= characters.length) return all()
  const text = masked(characters, char, keep, (at) => at < first || at >= characters.length - last)
  return text === characters.join('') ? all() : text
}

/** Units for each character of a filter that processes single characters. */
const EACH = 4

export const revealFilters: FilterRules = {
  last4: { run: last4, rate: 1 / 16 },
  reveal_last: { run: revealLast, rate: EACH },
  reveal: { run: reveal, rate: EACH },
}
