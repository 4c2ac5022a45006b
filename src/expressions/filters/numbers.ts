/** Liquid's standard filters for numbers; other values count as 0. */
import { badFilter } from '../errors.ts'
import type { FilterRule, FilterRules } from './filter.ts'

const numberOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 0 : Number(value) || 0

const over = (calculate: (number: number, by: number) => number): FilterRule => ({
  run: (value, [by]) => calculate(numberOf(value), numberOf(by)),
  rate: 1 / 4,
  isShallow: true,
  takesNull: true,
})

const shifted = (number: number, by: number): number => {
  const [mantissa, power = '0'] = String(number).split('e')
  return Number(`${mantissa}e${Number(power) + by}`)
}

/** `round: digits=0`: rounds halves away from zero. */
const round = (number: number, digits: number): number => {
  const scaled = shifted(Math.abs(number), digits)
  if (!(scaled <= Number.MAX_SAFE_INTEGER)) return number
  const rounded = shifted(Math.round(scaled), -digits)
  return number < 0 ? -rounded : rounded
}

export const numberFilters: FilterRules = {
  plus: over((number, by) => number + by),
  minus: over((number, by) => number - by),
  times: over((number, by) => number * by),
  divided_by: {
    ...over(() => 0),
    run: (value, [by], name) => {
      if (numberOf(by) === 0) throw badFilter(name, 'cannot divide by 0.')
      return numberOf(value) / numberOf(by)
    },
  },
  modulo: over((number, by) => ((number % by) + by) % by),
  round: over(round),
  floor: over(Math.floor),
  ceil: over(Math.ceil),
  abs: over(Math.abs),
  at_least: over(Math.max),
  at_most: over(Math.min),
}
