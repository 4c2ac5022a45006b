import type { LogEntry, PluginContext } from '#sdk'

/** Past participles of verbs that are irregular, or whose record is about something else. */
const PAST: Readonly<Record<string, string>> = {
  read: 'read',
  outcome: 'completed',
}

/** Verbs of records about tokens. */
const TOKEN_VERBS = ['create', 'read', 'update', 'delete', 'use', 'guard']

/** Records that no operation declares, of the service and of built-in plugins. */
const UNDECLARED: readonly (readonly [entity: string, verb: string])[] = [
  ['console_session', 'create'],
  ['console_session', 'delete'],
  ['proxy', 'read'],
  ['proxy', 'use'],
  ['proxy', 'outcome'],
  ['reactor', 'use'],
  ['reactor', 'read'],
  ['webhook', 'disable'],
]

/** Entities that are invoked, not used. */
const INVOKED = ['proxy', 'reactor']

const CALLBACK = /^Reactor result sent/
const DENIED = /^Denied: | denied(?::|$)/

const pastOf = (verb: string): string => PAST[verb] ?? (verb.endsWith('e') ? `${verb}d` : `${verb}ed`)

type Declarations = Pick<PluginContext, 'tokenTypes' | 'entityTypes' | 'auditDeclarations'>

/**
 * Types of events: `<entity>.<past participle>`. An entity that is a part of another one is named with it:
 * `application.key_created`.
 */
export const createEventTypes = ({ tokenTypes, entityTypes, auditDeclarations }: Declarations) => {
  const tokens = new Set(tokenTypes().map(({ name }) => name)).add('token')
  const entities = new Set(entityTypes().map(({ value }) => value))
  const nameOf = (entity: string, past: string): string => {
    if (tokens.has(entity)) return `token.${past}`
    for (let cut = entity.lastIndexOf('_'); cut > 0; cut = entity.lastIndexOf('_', cut - 1))
      if (entities.has(entity.slice(0, cut)))
        return `${entity.slice(0, cut)}.${entity.slice(cut + 1)}_${past}`
    return `${entity}.${past}`
  }
  const typeOf = (entity: string, verb: string): string =>
    nameOf(entity, verb === 'use' && INVOKED.includes(entity) ? 'invoked' : pastOf(verb))

  return {
    /** Whether records of this entity type are about tokens. */
    isToken: (entity: string): boolean => tokens.has(entity),
    /** The type of a record's event. */
    of: ({ entity_type, operation, message }: Pick<LogEntry, 'entity_type' | 'operation' | 'message'>) => {
      if (DENIED.test(message)) return nameOf(entity_type, 'denied')
      if (entity_type === 'reactor' && CALLBACK.test(message)) return 'reactor.result_sent'
      return typeOf(entity_type, operation)
    },
    /** All types, in alphabetical order. */
    all: (): readonly string[] => {
      const declared = auditDeclarations().map(({ entity, verb }) => typeOf(entity, verb))
      const others = UNDECLARED.filter(([entity]) => entities.has(entity)).map(([entity, verb]) =>
        typeOf(entity, verb),
      )
      const denied = [...entities].map((entity) => nameOf(entity, 'denied'))
      const ofTokens = TOKEN_VERBS.map((verb) => typeOf('token', verb))
      const callback = entities.has('reactor') ? ['reactor.result_sent'] : []
      return [...new Set([...declared, ...others, ...denied, ...ofTokens, ...callback])].sort()
    },
  }
}

export type EventTypes = ReturnType<typeof createEventTypes>

/** Number of characters to insert, delete or replace between two texts (Levenshtein). */
const distance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1),
      )
    row = next
  }
  return row[b.length] ?? 0
}

/** The type that a text is probably meant to be. */
export const nearestOf = (text: string, types: readonly string[]): string | undefined =>
  types.map((type) => ({ type, cost: distance(text, type) })).sort((a, b) => a.cost - b.cost)[0]?.type
