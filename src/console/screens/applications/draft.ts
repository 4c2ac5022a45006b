import type { Application, ApplicationType, Destination, Disclosure, Rule } from '../../api/types.ts'
import type { GuardChoice, GuardMode } from '../../kit/guard-modes.ts'
import type { PermissionInfo } from './types.ts'

/** Lists as they are typed: separated by commas. The API judges them. */
export interface DestinationDraft {
  /** Key of the element on the page, for `repeat`. */
  readonly key: number
  readonly host: string
  readonly ports: string
  readonly methods: string
  readonly path: string
  readonly surfaces: string
}

export interface RuleDraft extends Omit<Rule, 'destinations'> {
  readonly key: number
  readonly destinations: readonly DestinationDraft[]
  /** The rule that it was before; absent: a new one. */
  readonly stored?: Rule
}

export interface Draft {
  readonly name: string
  readonly type: ApplicationType
  readonly permissions: readonly string[]
  /** Rules in the order of their priority. */
  readonly rules: readonly RuleDraft[]
  /** Destinations that values may be sent to. An empty list allows any. */
  readonly destinations: readonly DestinationDraft[]
  readonly responseGuard: GuardChoice
}

const HIGHEST = 2_147_483_647

let keys = 0
const newKey = (): number => ++keys

const joined = (list: readonly (string | number)[] = []): string => list.join(', ')

export const destinationDraft = (destination?: Destination): DestinationDraft => ({
  key: newKey(),
  host: destination?.host ?? '',
  ports: joined(destination?.ports ?? [443]),
  methods: joined(destination?.methods),
  path: destination?.path ?? '',
  surfaces: joined(destination?.surfaces),
})

export const ruleDraft = (rule: Rule, isStored: boolean): RuleDraft => ({
  ...rule,
  key: newKey(),
  destinations: (rule.destinations ?? []).map(destinationDraft),
  ...(isStored ? { stored: rule } : {}),
})

type Source = Pick<Application, 'name' | 'type' | 'permissions' | 'rules' | 'destinations' | 'response_guard'>

export const draftOf = (source: Source, isStored = true): Draft => ({
  name: source.name,
  type: source.type,
  permissions: source.permissions,
  rules: source.rules.toSorted((a, b) => a.priority - b.priority).map((rule) => ruleDraft(rule, isStored)),
  destinations: (source.destinations ?? []).map(destinationDraft),
  responseGuard: source.response_guard ?? '',
})

/** A rule at the end, which the API would store, so that its difference is seen at once. */
export const appendRule = (
  rules: readonly RuleDraft[],
  known: readonly Pick<PermissionInfo, 'type'>[],
): readonly RuleDraft[] => {
  const last = rules.at(-1)?.priority ?? 0
  const { type } = known.find((info) => info.type === 'token:read') ?? known[0] ?? { type: 'token:create' }
  const fresh = ruleDraft(
    { description: 'New rule', priority: last + 1, container: '/', transform: 'mask', permissions: [type] },
    false,
  )
  const all = [...rules, fresh]
  return last < HIGHEST ? all : all.map((rule, index) => ({ ...rule, priority: index + 1 }))
}

/** The rule at `index` and its neighbour exchange places and priorities. */
export const moveRule = (rules: readonly RuleDraft[], index: number, by: -1 | 1): readonly RuleDraft[] => {
  const rule = rules[index]
  const other = rules[index + by]
  if (rule === undefined || other === undefined) return rules
  return rules
    .with(index, { ...other, priority: rule.priority })
    .with(index + by, { ...rule, priority: other.priority })
}

const listOf = (text: string): readonly string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')

const portOf = (text: string): number | string => (/^\d{1,9}$/.test(text) ? Number(text) : text)

/** A destination as it is sent; texts that are no numbers are sent for the API to reject. */
interface DestinationBody extends Omit<Destination, 'ports'> {
  readonly ports?: readonly (number | string)[]
}

const destinationBody = ({ host, ports, methods, path, surfaces }: DestinationDraft): DestinationBody => ({
  host: host.trim(),
  ...(ports.trim() === '' ? {} : { ports: listOf(ports).map(portOf) }),
  ...(methods.trim() === '' ? {} : { methods: listOf(methods.toUpperCase()) }),
  ...(path.trim() === '' ? {} : { path: path.trim() }),
  ...(surfaces.trim() === '' ? {} : { surfaces: listOf(surfaces) }),
})

const destinationsBody = (list: readonly DestinationDraft[]) =>
  list.length === 0 ? {} : { destinations: list.map(destinationBody) }

interface RuleBody {
  readonly description: string
  readonly priority: number
  readonly container: string
  readonly transform: Disclosure
  readonly permissions: readonly string[]
  readonly destinations?: readonly DestinationBody[]
}

/** The part of an application that an update replaces. */
export interface DraftBody {
  readonly name: string
  readonly permissions: readonly string[]
  readonly rules: readonly RuleBody[]
  readonly destinations?: readonly DestinationBody[]
  readonly response_guard?: GuardMode
}

export const ruleBody = ({
  description,
  priority,
  container,
  transform,
  permissions,
  destinations,
}: RuleDraft): RuleBody => ({
  description: description.trim(),
  priority,
  container: container.trim(),
  transform,
  permissions,
  ...destinationsBody(destinations),
})

export const bodyOf = ({ name, permissions, rules, destinations, responseGuard }: Draft): DraftBody => ({
  name: name.trim(),
  permissions,
  rules: rules.map(ruleBody),
  ...destinationsBody(destinations),
  ...(responseGuard === '' ? {} : { response_guard: responseGuard }),
})

/** Whether an update would replace what is stored by the same. */
export const isSameBody = (a: DraftBody, b: DraftBody): boolean => JSON.stringify(a) === JSON.stringify(b)
