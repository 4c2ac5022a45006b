import type { Expressions } from '../../expressions/types.ts'
import type {
  Collection,
  Contribution,
  Operation,
  PermissionInfo,
  Plugin,
  TokenType,
} from '../../sdk/index.ts'
import { checkCollection } from './collection.ts'
import { type Issue, type Issues, issuesAt } from './issues.ts'
import { checkOperation } from './operation.ts'
import { placeOf } from './plugin.ts'
import { checkTokenType } from './token-type.ts'

const MEMBERS = [
  'operations',
  'tokenTypes',
  'filters',
  'collections',
  'permissions',
  'entities',
  'ports',
  'start',
  'stop',
  'health',
]
const LISTS = ['operations', 'tokenTypes', 'collections', 'permissions'] as const
const FUNCTIONS = ['start', 'stop', 'health'] as const
/** Valid names of filters. */
export const FILTER_NAME = /^[a-z][a-z0-9_]{0,49}$/
const PERMISSION = /^[a-z][a-z0-9_-]*(?::[a-z][a-z0-9_-]*)+$/
const APPLICATION_TYPES = ['public', 'private', 'management']
const PORTS: Readonly<Record<string, readonly string[]>> = {
  credentials: ['authenticate', 'install'],
  sessions: ['authenticate'],
  applications: ['get'],
  console: ['find', 'signIn', 'renew', 'end'],
  members: ['acceptInvitation'],
  invitations: ['onInvited'],
  proxies: ['find', 'newest'],
  reactors: ['programs'],
}

/** Checks the outer form of a setup's result; its lists are valid when this is true. */
export const checkContributionShape = (
  plugin: Plugin,
  value: unknown,
  issues: Issue[],
): value is Contribution => {
  const at = issuesAt(`${placeOf(plugin)} › setup`, issues)
  const before = issues.length
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    at.add('it does not return an object.', 'Return what the plugin brings, e.g. { tokenTypes: [ … ] }.')
    return false
  }
  const contribution = value as Record<string, unknown>
  for (const name of Object.keys(contribution))
    if (!MEMBERS.includes(name))
      at.add(`a plugin cannot bring "${name}".`, `Known are ${MEMBERS.join(', ')}.`)
  for (const name of LISTS) {
    const items = contribution[name]
    if (items === undefined) continue
    if (!Array.isArray(items) || items.some((item) => typeof item !== 'object' || item === null))
      at.add(`"${name}" is not a list of objects.`, 'Return a list.')
  }
  for (const name of FUNCTIONS)
    if (contribution[name] !== undefined && typeof contribution[name] !== 'function')
      at.add(`"${name}" is not a function.`, 'Return a function, or leave it out.')
  for (const name of ['filters', 'ports'])
    if (
      contribution[name] !== undefined &&
      (typeof contribution[name] !== 'object' || contribution[name] === null)
    )
      at.add(`"${name}" is not an object.`, 'Return an object of named members.')
  return issues.length === before
}

const checkPermission = (permission: PermissionInfo, issues: Issues) => {
  if (!PERMISSION.test(String(permission.type)))
    issues.add('it is not "resource:verb".', 'Write it like "thing:read".')
  if (typeof permission.description !== 'string' || permission.description === '')
    issues.add('it has no description.', 'Say what it allows.')
  const types: unknown = permission.application_types
  if (!Array.isArray(types) || types.length === 0 || types.some((type) => !APPLICATION_TYPES.includes(type)))
    issues.add(
      'its application types are not valid.',
      `List those that may hold it, of ${APPLICATION_TYPES.join(', ')}.`,
    )
}

const named = (kind: string, item: { readonly name?: string }, index: number) =>
  `${kind} ${typeof item.name === 'string' ? `"${item.name}"` : index + 1}`

const operationPlace = (operation: Operation, index: number) =>
  `operation ${typeof operation.rpc === 'string' ? operation.rpc : index + 1}`

export interface ContributionContext {
  /** All permissions of all plugins. */
  readonly permissions: ReadonlySet<string>
  /** The expression language with the filters of all plugins. */
  readonly expressions: Expressions
  /** Filters of the language itself. */
  readonly builtIn: ReadonlySet<string>
  /** Whether operations are checked. */
  readonly operations: boolean
}

/** All issues of one plugin's contribution by itself. */
export const checkContribution = (
  plugin: Plugin,
  contribution: Contribution,
  context: ContributionContext,
  issues: Issue[],
): void => {
  const at = issuesAt(placeOf(plugin), issues)
  if (context.operations)
    contribution.operations?.forEach((operation: Operation, index) => {
      checkOperation(operation, context.permissions, at.at(operationPlace(operation, index)))
    })
  contribution.tokenTypes?.forEach((type: TokenType, index) => {
    checkTokenType(type, context.expressions, at.at(named('token type', type, index)))
  })
  contribution.collections?.forEach((collection: Collection, index) => {
    checkCollection(collection, at.at(named('collection', collection, index)))
  })
  contribution.permissions?.forEach((permission) => {
    checkPermission(permission, at.at(`permission "${permission.type}"`))
  })
  for (const [name, filter] of Object.entries(contribution.filters ?? {})) {
    const place = at.at(`filter "${name}"`)
    if (!FILTER_NAME.test(name))
      place.add('its name is not valid.', 'Use lower-case letters, digits and underscores, a letter first.')
    if (typeof filter !== 'function') place.add('it is not a function.', 'Give (value, …arguments) => value.')
    if (context.builtIn.has(name))
      place.add('the expression language has a filter of this name.', 'Choose another name.')
  }
  for (const [name, port] of Object.entries(contribution.ports ?? {})) {
    const place = at.at(`port "${name}"`)
    const methods = PORTS[name]
    if (methods === undefined) {
      place.add('there is no such port.', `Known are ${Object.keys(PORTS).join(', ')}.`)
      continue
    }
    const provided = port as unknown as Record<string, unknown>
    for (const method of methods)
      if (typeof provided?.[method] !== 'function') place.add(`it lacks the function "${method}".`, 'Add it.')
  }
}
