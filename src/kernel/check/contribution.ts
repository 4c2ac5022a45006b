import type { TSchema } from 'typebox'
import { Type } from '../../common/json-schema.ts'
import type { Expressions } from '../../expressions/types.ts'
import type {
  Check,
  Collection,
  Contribution,
  Operation,
  PermissionInfo,
  Plugin,
  TokenType,
} from '../../sdk/index.ts'
import { checkCollection } from './collection.ts'
import { Callable, checkDeclaration, issue, issueOfHolder, noOthers } from './declaration.ts'
import { type Issue, issuesAt } from './issues.ts'
import { checkOperation } from './operation.ts'
import { placeOf } from './plugin.ts'
import { checkOpenPort, checkPort, type OpenPorts } from './port.ts'
import { checkProxyCheck } from './proxy-check.ts'
import { ConsumerDeclaration, JobDeclaration } from './task.ts'
import { checkTokenType } from './token-type.ts'

const listOfObjects = (name: string) =>
  Type.Optional(
    Type.Array(Type.Object({}), issueOfHolder(`"${name}" is not a list of objects.`, 'Return a list.')),
  )

const optionalFunction = (name: string) =>
  Type.Optional(
    Callable(issueOfHolder(`"${name}" is not a function.`, 'Return a function, or leave it out.')),
  )

const optionalObject = (name: string) =>
  Type.Optional(
    Type.Object({}, issueOfHolder(`"${name}" is not an object.`, 'Return an object of named members.')),
  )

/** Schema of the result of a setup. */
const ContributionDeclaration = Type.Object(
  {
    operations: listOfObjects('operations'),
    tokenTypes: listOfObjects('tokenTypes'),
    filters: optionalObject('filters'),
    collections: listOfObjects('collections'),
    permissions: listOfObjects('permissions'),
    entities: Type.Optional(
      Type.Array(
        Type.String(),
        issueOfHolder('"entities" is not a list of names.', 'Write it like ["thing"].'),
      ),
    ),
    openPorts: listOfObjects('openPorts'),
    ports: optionalObject('ports'),
    checks: listOfObjects('checks'),
    consumers: listOfObjects('consumers'),
    jobs: listOfObjects('jobs'),
    start: optionalFunction('start'),
    stop: optionalFunction('stop'),
    health: optionalFunction('health'),
  } satisfies Record<keyof Contribution, TSchema>,
  {
    ...issue('it does not return an object.', 'Return what the plugin brings, e.g. { tokenTypes: [ … ] }.'),
    ...noOthers('a plugin cannot bring "{member}".'),
  },
)

const APPLICATION_TYPES = ['public', 'private', 'management'] as const

const PermissionDeclaration = Type.Object({
  type: Type.String({
    pattern: '^[a-z][a-z0-9_-]*(?::[a-z][a-z0-9_-]*)+$',
    ...issueOfHolder('it is not "resource:verb".', 'Write it like "thing:read".'),
  }),
  description: Type.String({
    minLength: 1,
    ...issueOfHolder('it has no description.', 'Say what it allows.'),
  }),
  application_types: Type.Array(Type.Enum(APPLICATION_TYPES), {
    minItems: 1,
    ...issueOfHolder(
      'its application types are not valid.',
      `List those that may hold it, of ${APPLICATION_TYPES.join(', ')}.`,
    ),
  }),
} satisfies Record<keyof PermissionInfo, TSchema>)

/** Valid names of filters. */
export const FILTER_NAME = /^[a-z][a-z0-9_]{0,49}$/

/** Checks the outer form of a setup's result; its lists are valid when this is true. */
export const checkContributionShape = (
  plugin: Plugin,
  value: unknown,
  issues: Issue[],
): value is Contribution => {
  const before = issues.length
  checkDeclaration(ContributionDeclaration, value, issuesAt(`${placeOf(plugin)} › setup`, issues))
  return issues.length === before
}

const named = (kind: string, item: { readonly name?: string }, index: number) =>
  `${kind} ${typeof item.name === 'string' ? `"${item.name}"` : index + 1}`

const operationPlace = (operation: Operation, index: number) =>
  `operation ${typeof operation.rpc === 'string' ? operation.rpc : index + 1}`

interface ContributionContext {
  /** All permissions of all plugins. */
  readonly permissions: ReadonlySet<string>
  /** The expression language with the filters of all plugins. */
  readonly expressions: Expressions
  /** Filters of the language itself. */
  readonly builtIn: ReadonlySet<string>
  /** Ports that plugins of the list open. */
  readonly openPorts: OpenPorts
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
  contribution.checks?.forEach((check: Check, index) => {
    checkProxyCheck(check, at.at(named('check', check, index)))
  })
  contribution.permissions?.forEach((permission) => {
    checkDeclaration(PermissionDeclaration, permission, at.at(`permission "${permission.type}"`))
  })
  contribution.consumers?.forEach((consumer, index) => {
    checkDeclaration(ConsumerDeclaration, consumer, at.at(named('consumer', consumer, index)))
  })
  contribution.jobs?.forEach((job, index) => {
    checkDeclaration(JobDeclaration, job, at.at(named('job', job, index)))
  })
  for (const [name, filter] of Object.entries(contribution.filters ?? {})) {
    const place = at.at(`filter "${name}"`)
    if (!FILTER_NAME.test(name))
      place.add('its name is not valid.', 'Use lower-case letters, digits and underscores, a letter first.')
    if (typeof filter !== 'function') place.add('it is not a function.', 'Give (value, …arguments) => value.')
    if (context.builtIn.has(name))
      place.add('the expression language has a filter of this name.', 'Choose another name.')
  }
  contribution.openPorts?.forEach((port, index) => {
    checkOpenPort(port, at.at(named('open port', port, index)))
  })
  for (const [name, port] of Object.entries(contribution.ports ?? {}))
    checkPort(name, port, context.openPorts, at.at(`port "${name}"`))
}
