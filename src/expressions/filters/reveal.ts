import { charArg, countArg, type InnerFilter, stringArg, textOf } from './filter.ts'

/** Masks all characters but those of `keep` and those for which `shown` holds. */
const masked = (characters: readonly string[], char: string, keep: string, shown: (at: number) => boolean) =>
  characters.map((character, at) => (shown(at) || keep.includes(character) ? character : char)).join('')

/** `last4`: the last four characters; shorter text whole. */
const last4: InnerFilter = (value, _args, name) => [...textOf(value, name)].slice(-4).join('')

/** `reveal_last: n, char='X'`: all but the last n characters masked, `-` kept; text of at most n characters whole. */
const revealLast: InnerFilter = (value, args, name) => {
  const characters = [...textOf(value, name)]
  const from = characters.length - countArg(args, 0, name)
  return masked(characters, charArg(args, 1, name, 'X'), '-', (at) => at >= from)
}

/** `reveal: first=0, last=0, char='X', keep=''`: everything masked when that would show the whole text. */
const reveal: InnerFilter = (value, args, name) => {
  const characters = [...textOf(value, name)]
  const first = countArg(args, 0, name, 0)
  const last = countArg(args, 1, name, 0)
  const char = charArg(args, 2, name, 'X')
  const keep = stringArg(args, 3, name, '')
  const all = () => characters.map(() => char).join('')
  if (first + last >= characters.length) return all()
  const text = masked(characters, char, keep, (at) => at < first || at >= characters.length - last)
  return text === characters.join('') ? all() : text
}

export const revealFilters: Readonly<Record<string, InnerFilter>> = { last4, reveal_last: revealLast, reveal }
