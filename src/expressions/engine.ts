import {
  Context,
  Liquid,
  type Template as LiquidTemplate,
  Tokenizer,
  TokenKind,
  toValue,
  toValueSync,
  Value,
} from 'liquidjs'
import type { AppError } from '../common/errors.ts'
import { badExpression, badFilter, innerAppError } from './faults.ts'
import type { InnerFilter } from './filters/filter.ts'
import { LIMITS } from './limits.ts'
import { Bytes, checkWeight, toText } from './values.ts'
import type { Work } from './work.ts'

/**
 * Not part of standard Liquid, and unsafe or useless here: they evaluate text as expressions, build values whose size
 * is exponential in the work done, bypass the output rule, or clash with ours.
 */
const REMOVED_FILTERS = [
  'where_exp reject_exp group_by group_by_exp has_exp find_exp find_index_exp',
  'push unshift pop shift sample inspect jsonify raw',
].flatMap((names) => names.split(' '))

/** They read files or other templates. */
const REMOVED_TAGS = ['include', 'render', 'layout', 'block']

/** They cost more for each element than what liquidjs counts for it. */
const SORTING = ['sort', 'sort_natural']
const SORTED = 20

/** What liquidjs calls handlers with, as far as ours need it. */
interface Invocation {
  readonly context: { readonly memoryLimit: Pick<Work, 'use'> }
}
type Handler = (this: Invocation, value: unknown, ...args: unknown[]) => unknown

const handlerOf = (impl: unknown): Handler =>
  (typeof impl === 'function' ? impl : (impl as { readonly handler: unknown }).handler) as Handler

const guarded = (name: string, impl: unknown): Handler => {
  const handler = handlerOf(impl)
  const factor = SORTING.includes(name) ? SORTED : 1
  return function (value, ...args) {
    const plain = value instanceof Bytes ? String(value) : value
    const { memoryLimit } = this.context
    memoryLimit.use(checkWeight(plain) * factor)
    for (const arg of args) memoryLimit.use(checkWeight(arg))
    return handler.call(this, plain, ...args)
  }
}

const ours = (name: string, filter: InnerFilter): Handler =>
  function (value, ...args) {
    // liquidjs hands over `nil` and `empty` as objects of its own
    const plain: unknown = toValue(value)
    if (plain === null || plain === undefined) return null
    if (args.some(Array.isArray)) throw badFilter(name, 'takes no named arguments and no lists.')
    this.context.memoryLimit.use(checkWeight(plain) * LIMITS.handled)
    return filter(plain, args.map(toValue), name)
  }

const failure = (thrown: unknown): AppError => {
  const known = innerAppError(thrown)
  if (known !== undefined) return known
  const message = thrown instanceof Error ? thrown.message : ''
  const unknown = /undefined filter: (\w{1,50})/.exec(message)?.[1]
  if (unknown !== undefined) return badExpression(`There is no filter "${unknown}".`)
  if (/limit exceeded|string length|call stack/.test(message))
    return badExpression('An expression takes more time or memory than it may. Make it simpler.')
  return badExpression('An expression cannot be read or evaluated. Check its quotes, commas and filters.')
}

const attempt = <T>(run: () => T): T => {
  try {
    return run()
  } catch (thrown) {
    throw failure(thrown)
  }
}

/** Liquid may set counters in what it is handed; the caller's object stays as it was, and has no prototype to read. */
const scopeOf = (variables: object): object => Object.assign(Object.create(null), variables)

/** One compiled `value | filter | …`. Its result is what the last filter left; see `toJson`, `toText`. */
export type Chain = (variables: object, work: Work) => unknown

/** A compiled text with tags or several outputs; its result is text. */
type Page = (variables: object, work: Work) => string

export interface Engine {
  /**
   * Compiles `head | filter: literal | …`. With `slips`, a comma where a `|` belongs is read as one: what the author
   * of `{{ data.number, reveal_last: 4 }}` meant is a mask, and Liquid's own reading would show the number.
   * Without, arguments must be literals. Throws `bad_expression`.
   */
  chain(text: string, slips: boolean): Chain
  /** Compiles any Liquid text but tags that read files; slips are read as in `chain`. Throws `bad_expression`. */
  page(text: string): Page
  /** When the text is nothing but one output: what stands in it. */
  onlyOutput(text: string): string | undefined
}

const LITERALS: readonly number[] = [TokenKind.Number, TokenKind.Literal, TokenKind.Quoted]

type Argument = { readonly kind: number } | [string?, ({ readonly kind: number } | undefined)?]

const isLiteral = (argument: Argument): boolean => {
  const value = Array.isArray(argument) ? argument[1] : argument
  return value !== undefined && LITERALS.includes(value.kind)
}

/** Names that Liquid gives a meaning of its own. */
const SPECIAL = /(^(true|false|nil|null|empty|blank)$)|(^|\.)(size|first|last|contains|and|or|not)(\.|$)/

/** The parts of `data.number` when that is all that stands before the filters; undefined when it is anything else. */
const memberPath = (text: string): readonly string[] | undefined => {
  const head = (text.split('|', 1)[0] ?? '').trim()
  return /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/.test(head) && !SPECIAL.test(head) ? head.split('.') : undefined
}

/** Not a path through plain objects: liquidjs knows what is meant. */
const OTHER = Symbol('other')

const memberAt = (variables: object, path: readonly string[]): unknown => {
  let current: unknown = variables
  for (const part of path) {
    if (current === null || current === undefined) return null
    if (typeof current !== 'object' || Array.isArray(current)) return OTHER
    current = Object.hasOwn(current, part) ? (current as Record<string, unknown>)[part] : null
  }
  return current
}

interface FilterCall {
  readonly name: string
  readonly args: readonly unknown[]
}

/** Nothing but filters of ours with plain arguments: run without liquidjs' generators, several times faster. */
const directly = (
  calls: readonly FilterCall[],
  filters: ReadonlyMap<string, InnerFilter>,
): ((value: unknown, work: Work) => unknown) | undefined => {
  const steps: ((invocation: Invocation, value: unknown) => unknown)[] = []
  for (const { name, args } of calls) {
    const filter = filters.get(name)
    const contents = args.map((argument) => (argument as { readonly content?: unknown }).content)
    if (
      filter === undefined ||
      contents.some((content) => typeof content === 'object' || content === undefined)
    )
      return undefined
    const run = ours(name, filter)
    steps.push((invocation, value) => run.call(invocation, value, ...contents))
  }
  return (value, work) => {
    const invocation = { context: { memoryLimit: work } }
    return steps.reduce((current, step) => step(invocation, current), value)
  }
}

/** liquidjs with the given filters in place of and besides the standard ones. */
export const createEngine = (filters: ReadonlyMap<string, InnerFilter>): Engine => {
  const liquid = new Liquid({
    ownPropertyOnly: true,
    strictFilters: true,
    timezoneOffset: 0,
    parseLimit: LIMITS.stored * 2,
    templates: {},
    outputEscape: toText,
  })
  for (const name of REMOVED_FILTERS) liquid.unregisterFilter(name)
  for (const name of REMOVED_TAGS) delete liquid.tags[name]
  for (const [name, impl] of Object.entries(liquid.filters)) liquid.registerFilter(name, guarded(name, impl))
  for (const [name, filter] of filters) liquid.registerFilter(name, ours(name, filter))
  const { operators } = liquid.options

  const contextOf = (variables: object, work: Work) =>
    new Context(scopeOf(variables), liquid.options, { sync: true }, {
      liquid,
      memoryLimit: work,
      renderLimit: work,
    } as never)

  const tokenize = (text: string) => {
    const tokenizer = new Tokenizer(text, operators)
    const token = tokenizer.readFilteredValue()
    tokenizer.skipBlank()
    return { token, rest: tokenizer.p }
  }

  /** Where liquidjs would stop reading and drop the rest: a comma becomes `|`, anything else is refused. */
  const mended = (text: string): string => {
    let current = text
    for (let slips = 0; slips <= LIMITS.filters; slips++) {
      const { rest } = tokenize(current)
      if (rest >= current.length) return current
      if (current[rest] !== ',' || !/^,\s*[A-Za-z_]/.test(current.slice(rest))) break
      current = `${current.slice(0, rest)}|${current.slice(rest + 1)}`
    }
    throw badExpression('An expression holds something behind its last filter that cannot be read.')
  }

  const chain = (text: string, slips: boolean): Chain =>
    attempt(() => {
      if (/\|\s*$/.test(text)) throw badExpression('An expression ends in "|"; name a filter behind it.')
      const { token, rest } = tokenize(slips ? mended(text) : text)
      if (rest < token.input.length)
        throw badExpression('An expression holds something behind its last filter that cannot be read.')
      if (token.filters.length > LIMITS.filters)
        throw badExpression(`An expression may have at most ${LIMITS.filters} filters.`)
      if (!slips)
        for (const filter of token.filters)
          if (!filter.args.every((argument) => isLiteral(argument as Argument)))
            throw badFilter(filter.name, 'needs numbers or texts in quotes as arguments.')
      const value = new Value(token, liquid)
      const whole: Chain = (variables, work) =>
        toValueSync(value.value(contextOf(variables, work), false) as never)
      const path = memberPath(token.input)
      const steps = path && directly(token.filters, filters)
      if (!path || !steps) return (variables, work) => attempt(() => whole(variables, work))
      return (variables, work) =>
        attempt(() => {
          const found = memberAt(variables, path)
          return found === OTHER ? whole(variables, work) : steps(found, work)
        })
    })

  const topLevel = (text: string) => new Tokenizer(text, operators).readTopLevelTokens(liquid.options)

  const page = (text: string): Page =>
    attempt(() => {
      const parts = topLevel(text).map((token) => {
        const whole = text.slice(token.begin, token.end)
        if (token.kind !== TokenKind.Output) return whole
        const [from, to] = (token as unknown as { readonly contentRange: [number, number] }).contentRange
        return `${text.slice(token.begin, from)}${mended(text.slice(from, to))}${text.slice(to, token.end)}`
      })
      const templates: LiquidTemplate[] = liquid.parse(parts.join(''))
      return (variables, work) =>
        attempt(() => {
          const result: unknown = liquid.renderSync(templates, contextOf(variables, work))
          checkWeight(result)
          return String(result)
        })
    })

  const onlyOutput = (text: string): string | undefined =>
    attempt(() => {
      const [token, ...more] = topLevel(text)
      if (token === undefined || more.length > 0 || token.kind !== TokenKind.Output) return undefined
      const [from, to] = (token as unknown as { readonly contentRange: [number, number] }).contentRange
      return text.slice(from, to).trim()
    })

  return { chain, page, onlyOutput }
}
