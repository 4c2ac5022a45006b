import type { Application, Destination, Rule } from '../../api/types.ts'
import type { GuardChoice } from '../../kit/guard-modes.ts'
import type { Field } from './fields.ts'
import type { PermissionInfo } from './types.ts'

export type DestinationDraft = Readonly<Record<keyof Destination, string>>

interface DestinationField extends Field<DestinationDraft> {
  readonly member: keyof Destination
  /** Reads an item of a list, whose items are separated by commas; absent: one text. */
  readonly item?: (text: string) => number | string
}

/** Members of a destination, as they are typed. The API judges them: a port that is no number is sent as its text. */
export const DESTINATION_FIELDS: readonly DestinationField[] = [
  { member: 'host', label: 'Host', placeholder: 'api.example.com' },
  {
    member: 'ports',
    label: 'Ports',
    placeholder: '443',
    item: (text) => (/^\d{1,9}$/.test(text) ? Number(text) : text),
  },
  { member: 'methods', label: 'Methods', placeholder: 'any', item: (text) => text.toUpperCase() },
  { member: 'path', label: 'Path', placeholder: '/v1/**' },
  { member: 'surfaces', label: 'Surfaces', placeholder: 'any', item: (text) => text },
]

export interface RuleDraft extends Omit<Rule, 'destinations'> {
  readonly destinations: readonly DestinationDraft[]
  /** The rule that it was before; absent: a new one. */
  readonly stored?: Rule
}

export interface Draft extends Pick<Application, 'name' | 'type' | 'permissions'> {
  /** Rules in the order of their priority. */
  readonly rules: readonly RuleDraft[]
  /** Destinations that values may be sent to. An empty list allows any. */
  readonly destinations: readonly DestinationDraft[]
  readonly response_guard: GuardChoice
  /** Separated by commas. Public applications only. */
  readonly allowed_origins: string
}

/** The part of an application that an update replaces. */
export type DraftBody = Pick<
  Application,
  'name' | 'permissions' | 'rules' | 'destinations' | 'response_guard' | 'allowed_origins'
>

const HIGHEST = 2_147_483_647

export const destinationDraft = (destination?: Destination): DestinationDraft => {
  const source: Partial<Destination> = { ports: [443], ...destination }
  const texts = DESTINATION_FIELDS.map(({ member }) => [member, [source[member] ?? ''].flat().join(', ')])
  return Object.fromEntries(texts)
}

export const ruleDraft = (rule: Rule, isStored: boolean): RuleDraft => ({
  ...rule,
  destinations: (rule.destinations ?? []).map(destinationDraft),
  ...(isStored ? { stored: rule } : {}),
})

export const draftOf = (source: DraftBody & Pick<Application, 'type'>, isStored = true): Draft => ({
  name: source.name,
  type: source.type,
  permissions: source.permissions,
  rules: source.rules.toSorted((a, b) => a.priority - b.priority).map((rule) => ruleDraft(rule, isStored)),
  destinations: (source.destinations ?? []).map(destinationDraft),
  response_guard: source.response_guard ?? '',
  allowed_origins: (source.allowed_origins ?? []).join(', '),
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

const listOf = (text: string): readonly string[] => text.split(/\s*,\s*/).filter((part) => part !== '')

const destinationBody = (draft: DestinationDraft): Destination => {
  const members = DESTINATION_FIELDS.flatMap(({ member, item }) => {
    const text = draft[member].trim()
    if (text === '' && member !== 'host') return []
    return [[member, item === undefined ? text : listOf(text).map(item)]]
  })
  return Object.fromEntries(members)
}

const destinationsBody = (list: readonly DestinationDraft[]) =>
  list.length === 0 ? {} : { destinations: list.map(destinationBody) }

export const ruleBody = (rule: RuleDraft): Rule => ({
  description: rule.description.trim(),
  priority: rule.priority,
  container: rule.container.trim(),
  transform: rule.transform,
  permissions: rule.permissions,
  ...destinationsBody(rule.destinations),
})

const originsBody = (allowed_origins: readonly string[]) =>
  allowed_origins.length === 0 ? {} : { allowed_origins }

export const bodyOf = (draft: Draft): DraftBody => ({
  name: draft.name.trim(),
  permissions: draft.permissions,
  rules: draft.rules.map(ruleBody),
  ...destinationsBody(draft.destinations),
  ...(draft.response_guard === '' ? {} : { response_guard: draft.response_guard }),
  ...originsBody(listOf(draft.allowed_origins.trim())),
})

/** Whether an update would replace what is stored by the same. */
export const isSameBody = (a: DraftBody, b: DraftBody): boolean => JSON.stringify(a) === JSON.stringify(b)
