import { AppError } from '../common/errors.ts'
import { badExpression, badFilter } from './errors.ts'
import type { FilterRule } from './filters/filter.ts'
import { LIMITS } from './limits.ts'
import type { FilterCall, Operand } from './syntax.ts'
import type { Opacity } from './types.ts'
import { Bytes, weigh } from './values.ts'
import type { Work } from './work.ts'

export type Filters = ReadonlyMap<string, FilterRule>

/** Compiled filters. */
export interface Chain {
  /** Returns the result of the last filter. `variables`: values that arguments may name. */
  run(value: unknown, variables: object, work: Work): unknown
  /** The first filter that may not be applied to an opaque value, in a URL and elsewhere. */
  readonly revealing: Readonly<Record<Opacity, string | undefined>>
  /** An argument is a variable. */
  readonly hasVariables: boolean
}

/** Units for each part of a path, and for each member counted by `size`. */
const MEMBER = 1

/** A member by Liquid's rules: own members, and `size`, `first` and `last`. */
const memberOf = (value: unknown, part: string | number, work: Work): unknown => {
  if (value === null || value === undefined) return null
  const isList = Array.isArray(value)
  if (isList && typeof part === 'number') return value.at(part)
  if (Object.hasOwn(value as object, part)) return (value as Record<string, unknown>)[part]
  if (isList && part === 'first') return value[0]
  if (isList && part === 'last') return value.at(-1)
  if (part !== 'size') return null
  if (isList || typeof value === 'string') return value.length
  if (typeof value !== 'object') return null
  const { length } = Object.keys(value)
  work.use(length * MEMBER)
  return length
}

/** Value of an operand; null when it does not exist. */
export const operandValue = (operand: Operand, variables: object, work: Work): unknown => {
  if (operand.kind === 'literal') return operand.value
  work.use(operand.parts.length * MEMBER)
  let value: unknown = variables
  for (const part of operand.parts) value = memberOf(value, part, work)
  return value
}

interface Step {
  readonly run: Chain['run']
  readonly forOpaque: Readonly<Record<Opacity, boolean>>
  readonly hasVariables: boolean
}

const stepOf = ({ name, args, named }: FilterCall, filters: Filters): Step => {
  const rule = filters.get(name)
  if (rule === undefined)
    throw badExpression(
      /^[A-Za-z_]\w{0,49}$/.test(name)
        ? `The filter "${name}" does not exist.`
        : 'A filter does not exist. Check its name.',
    )
  for (const argument of named.keys())
    if (argument !== rule.named) throw badFilter(name, 'has no argument of that name.')
  const operands = [...args, ...named.values()]
  const literals = operands.every(({ kind }) => kind === 'literal')
    ? operands.map((operand) => operandValue(operand, {}, { use: () => {} }))
    : undefined
  const { run, rate, isShallow, takesNull, countsResult } = rule
  const runStep: Chain['run'] = (input, variables, work) => {
    work.use(LIMITS.call)
    const value = input instanceof Bytes && !rule.takesBytes ? String(input) : input
    if ((value === null || value === undefined) && !takesNull) return null
    const count = (characters: number) => work.use(characters * rate)
    const charge = (content: unknown) =>
      content instanceof Bytes
        ? work.use(content.buffer.length * Math.min(rate, LIMITS.native))
        : isShallow && typeof content === 'object'
          ? count(1)
          : weigh(content, count)
    charge(value)
    const values = literals ?? operands.map((operand) => operandValue(operand, variables, work))
    for (const argument of values) charge(argument)
    const result = run(value, values, name, work.use)
    if (!countsResult) charge(result)
    return result
  }
  const { forOpaque, takesVariables = false } = rule
  const hasVariables = literals === undefined
  const isFit =
    (!hasVariables || takesVariables) &&
    (typeof forOpaque === 'function' ? forOpaque(literals ?? []) : forOpaque !== undefined)
  return {
    run: runStep,
    hasVariables,
    forOpaque: { url: isFit && forOpaque !== 'not in URLs', text: isFit },
  }
}

/** Hides errors of native code, which may contain values. */
const attempt = <T>(run: () => T): T => {
  try {
    return run()
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown
    throw badExpression('An expression cannot be evaluated. Check the arguments of its filters.')
  }
}

/**
 * Compiles filters. Each charges `work` for its input and output: before it creates the output, unless that is no
 * larger than the input. Throws `invalid_expression` for an unknown filter.
 */
export const compileFilters = (calls: readonly FilterCall[], filters: Filters): Chain => {
  const steps = calls.map((call) => stepOf(call, filters))
  const runs = steps.map(({ run }) => run)
  const firstRevealing = (place: Opacity) =>
    calls[steps.findIndex(({ forOpaque }) => !forOpaque[place])]?.name
  return {
    revealing: { url: firstRevealing('url'), text: firstRevealing('text') },
    hasVariables: steps.some((step) => step.hasVariables),
    run: (value, variables, work) =>
      attempt(() => {
        let current = value
        for (const run of runs) current = run(current, variables, work)
        return current
      }),
  }
}
