import { randomInt } from 'node:crypto'
import { badFilter } from '../errors.ts'
import { binLength } from './cards.ts'
import { countArg, type FilterRules, flagArg, type InnerFilter, textOf } from './filter.ts'

const DIGITS = '0123456789'
const LOWER = 'abcdefghijklmnopqrstuvwxyz'
const UPPER = LOWER.toUpperCase()

/** Aliases become ids, which have at most 400 characters (completions §5). */
const MAX_LENGTH = 400

const pick = (alphabet: string): string => alphabet.charAt(randomInt(alphabet.length))

const sameKind = (character: string): string => {
  if (/\p{Nd}/u.test(character)) return pick(DIGITS)
  if (/\p{Lu}/u.test(character)) return pick(UPPER)
  return /\p{L}/u.test(character) ? pick(LOWER) : character
}

const charactersOf = (value: unknown, name: string): string[] => {
  const text = textOf(value, name)
  const characters = text.length > 2 * MAX_LENGTH ? undefined : [...text]
  if (characters === undefined || characters.length > MAX_LENGTH)
    throw badFilter(name, `accepts at most ${MAX_LENGTH} characters.`)
  return characters
}

/** Draws again when the alias equals the value, at most 20 times. */
const differing = (value: string, draw: () => string): string => {
  let alias = draw()
  for (let tries = 0; alias === value && tries < 20; tries++) alias = draw()
  return alias
}

const aliasOf =
  (replace: (character: string) => string): InnerFilter =>
  (value, args, name) => {
    const first = countArg(args, 0, name, 0)
    const last = countArg(args, 1, name, 0)
    const characters = charactersOf(value, name)
    // Like `reveal`: a text that is too short is not shown at all.
    const shows = first + last < characters.length
    return differing(characters.join(''), () =>
      characters
        .map((character, at) =>
          shows && (at < first || at >= characters.length - last) ? character : replace(character),
        )
        .join(''),
    )
  }

/** Luhn check digit of `digits` (ISO/IEC 7812-1, annex B). */
const luhnDigit = (digits: readonly string[]): string => {
  let sum = 0
  for (const [at, digit] of [...digits].reverse().entries()) {
    const doubled = Number(digit) * (at % 2 === 0 ? 2 : 1)
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return String((10 - (sum % 10)) % 10)
}

/**
 * `alias_card: reveal_bin='false', reveal_last4='false'`: spaces and dashes stay. Luhn-valid when nothing is
 * revealed.
 */
const aliasCard: InnerFilter = (value, args, name) => {
  const characters = charactersOf(value, name)
  const digits = characters.filter((character) => character !== ' ' && character !== '-')
  if (!digits.every((digit) => /^[0-9]$/.test(digit)) || digits.length < 8)
    throw badFilter(name, 'needs a card number: at least 8 digits, and otherwise only spaces and dashes.')
  const first = flagArg(args, 0, name) ? binLength(digits.length) : 0
  const last = flagArg(args, 1, name) ? 4 : 0
  if (first + last >= digits.length) throw badFilter(name, 'would reveal the complete number.')
  return differing(characters.join(''), () => {
    const drawn = digits.map((digit, at) => (at < first || at >= digits.length - last ? digit : pick(DIGITS)))
    if (first + last === 0) drawn[drawn.length - 1] = luhnDigit(drawn.slice(0, -1))
    let at = 0
    return characters.map((character) => (/[0-9]/.test(character) ? drawn[at++] : character)).join('')
  })
}

/** Units for each character: the cost of random numbers for all attempts. */
const DRAWN = 50

/** All use the system's cryptographic random generator. */
export const aliasFilters: FilterRules = {
  alias_preserve_format: { run: aliasOf(sameKind), rate: DRAWN },
  alias_preserve_length: { run: aliasOf(() => pick(LOWER + DIGITS)), rate: DRAWN },
  alias_card: { run: aliasCard, rate: DRAWN },
}
