import { AppError, invalid } from '../common/errors.ts'
import { inOwnTurn, mapInTurns } from '../common/event-loop.ts'
import { deeperThan, isObject, type Json } from '../common/json.ts'
import { bodyWork } from '../expressions/work.ts'
import type { Grants, UseContext, Work } from '../sdk/index.ts'
import { TokenInput } from '../sdk/token-input.ts'
import { type Outcome, reserveNew, storeDrafts } from './create.ts'
import { maskedData } from './disclosure.ts'
import { createIssues, memberPath } from './issues.ts'
import { serializeOrSummarize, serializeUnmasked } from './serialize-token.ts'
import { type Draft, parseDraft } from './token-input.ts'
import { stateOf } from './used.ts'
import { timeOf, type VaultDeps } from './vault-deps.ts'

/** Members of a token definition (completions §5). */
const MEMBERS: ReadonlySet<string> = new Set(Object.keys(TokenInput.properties))

/**
 * An object is a definition when it has `data` and, besides it, either a `type` or nothing but members of a definition;
 * any other object is a composite whose members are tokenized (see README.md).
 */
const isDefinition = (value: Json): boolean =>
  isObject(value) &&
  Object.hasOwn(value, 'data') &&
  (typeof value.type === 'string' || Object.keys(value).every((name) => MEMBERS.has(name)))

/** A place of the body whose value becomes a token: a plain string (replaced by its id) or a definition. */
interface Place {
  readonly kind: 'string' | 'definition'
  readonly definition: Json
  readonly path: string
}

/** The response's value at a place, by the order of places. */
type Result = (index: number) => Json

/** The response's value at a place; undefined: the body's own value, because it holds no token. */
type Build = ((result: Result) => Json) | undefined

/** Walks the body; returns a builder of the response. */
const collect = (body: Json, places: Place[], limit: number, path = ''): Build => {
  const take = (kind: Place['kind'], definition: Json) => {
    const index = places.push({ kind, definition, path }) - 1
    if (places.length > limit)
      throw invalid({ '': [`must not hold more than ${limit} values to tokenize; split it`] })
    return (result: Result): Json => result(index)
  }
  if (typeof body === 'string') return take('string', { data: body })
  if (typeof body !== 'object' || body === null) return undefined
  if (isDefinition(body)) return take('definition', body)
  const builds = new Map<string | number, NonNullable<Build>>()
  const visit = (name: string | number, value: Json, at: () => string) => {
    if (typeof value !== 'string' && (typeof value !== 'object' || value === null)) return
    const build = collect(value, places, limit, at())
    if (build) builds.set(name, build)
  }
  if (Array.isArray(body)) for (const [i, item] of body.entries()) visit(i, item, () => `${path}[${i}]`)
  else for (const [name, value] of Object.entries(body)) visit(name, value, () => memberPath(path, name))
  if (builds.size === 0) return undefined
  if (Array.isArray(body))
    return (result) =>
      body.map((item: Json, i) => {
        const build = builds.get(i)
        return build ? build(result) : item
      })
  return (result) =>
    Object.fromEntries(
      Object.entries(body).map(([name, value]) => {
        const build = builds.get(name)
        return [name, build ? build(result) : value]
      }),
    )
}

/** The masked values, which a card that is the complete body has as `mask` too; undefined when the mask fails. */
const maskedValues = (
  deps: VaultDeps,
  { row, opened, disclosure }: Outcome,
  work: Work,
): Json | undefined => {
  const type = deps.types.get(row.type)
  if (!type || (disclosure !== 'mask' && disclosure !== 'reveal')) return undefined
  try {
    return maskedData(deps.expressions, type, opened, work)
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_expression') return undefined
    throw error
  }
}

/** The response of a definition (interface, "Tokenize"): masked values in `mask`, only when it is the complete body. */
const recordOf = (deps: VaultDeps, outcome: Outcome, grants: Grants, isBody: boolean, work: Work): Json => {
  const { row, opened, disclosure } = outcome
  const record = serializeOrSummarize(deps, row, opened, disclosure, grants, serializeUnmasked, work)
  const mask = isBody ? maskedValues(deps, outcome, work) : undefined
  return (mask === undefined ? record : { ...record, mask }) as unknown as Json
}

/** `Vault.tokenize`. */
export const tokenizeBody = async (deps: VaultDeps, body: Json, context: UseContext): Promise<Json> => {
  const { depth, tokens } = deps.limits
  if (deeperThan(body, depth)) throw invalid({ '': [`must not nest deeper than ${depth}`] })
  const places: Place[] = []
  const build = await inOwnTurn(() => collect(body, places, tokens))
  const reserve = reserveNew(deps, context, places.length)
  const issues = createIssues()
  const rules = { ...deps, issues, depth, now: timeOf(deps, context) }
  const drafts = await mapInTurns(places, ({ definition, path }) => parseDraft(definition, rules, path))
  issues.check()
  const { work = bodyWork() } = context
  const outcomes = await storeDrafts(deps, drafts as readonly Draft[], context, work, { reserve })
  const results = await mapInTurns(outcomes, (outcome, i) => {
    const { kind, path } = places[i] as Place
    if (kind === 'string') return outcome.row.id
    context.used?.add(stateOf(outcome.row, outcome.opened))
    return recordOf(deps, outcome, context.caller.grants, path === '', work)
  })
  return build ? build((index) => results[index] as Json) : body
}
