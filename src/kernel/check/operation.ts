import type { TSchema } from 'typebox'
import { isKeyClass } from '../../access/authorize.ts'
import { ERRORS } from '../../common/errors.ts'
import { Type } from '../../common/json-schema.ts'
import type { AuditDeclaration, Operation } from '../../sdk/index.ts'
import { allows, asSchema, type JsonSchema } from '../json-schema.ts'
import {
  Callable,
  checkCompiles,
  checkDeclaration,
  type IsValid,
  issue,
  issueOfHolder,
  noOthers,
} from './declaration.ts'
import { checkExamples, ExampleCalls } from './examples.ts'
import { checkFields } from './fields.ts'
import type { Issues } from './issues.ts'

const HTTP = /^(?:GET|POST|PUT|PATCH|DELETE) \/\S*$/
const SEGMENT = /^(?:[A-Za-z0-9._~-]+|\{[A-Za-z_][A-Za-z0-9_]*\})$/
const STATUSES = [200, 201, 202, 204] as const
const ERROR_CODES = Object.keys(ERRORS)
const MAX_MESSAGE = 250

const objectSchema = Type.Object(
  { type: Type.Literal('object') },
  issue('it is not an object schema.', 'Use Type.Object({ … }).'),
)

const nameOfMember = (name: string, schema: 'input' | 'output') =>
  Type.Optional(
    Type.String(issueOfHolder(`"${name}" is not a name.`, `Name a member of the ${schema} schema.`)),
  )

const flag = (name: string) =>
  Type.Optional(Type.Boolean(issueOfHolder(`"${name}" is not a boolean.`, 'Write true, or leave it out.')))

const optionalFunction = (name: string, form: string) =>
  Type.Optional(Callable(issueOfHolder(`its ${name} is not a function.`, `Give ${form}, or leave it out.`)))

/** Schema of an operation. Its `audit`, which may be 'none', is checked by `checkAudit`. */
const OperationDeclaration = Type.Object(
  {
    rpc: Type.String({
      pattern: '^[A-Z][A-Za-z0-9]{0,49}\\.[A-Z][A-Za-z0-9]{0,49}$',
      ...issueOfHolder('its rpc is not "Service.Method".', 'Write it like "Things.Create".'),
    }),
    http: Type.String({
      pattern: HTTP.source,
      ...issue('{value} is not a method and a path.', 'Write it like "GET /things/{id}".'),
    }),
    summary: Type.String({
      minLength: 1,
      ...issueOfHolder('it has no summary.', 'Say in a few words what it does.'),
    }),
    description: Type.Optional(
      Type.String(issueOfHolder('its description is not text.', 'Write text, or leave it out.')),
    ),
    deprecated: Type.Optional(
      Type.Object(
        {
          since: Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' }),
          replacedBy: Type.String({ pattern: HTTP.source }),
        },
        issueOfHolder(
          '"deprecated" is not { since, replacedBy }.',
          'Write it like { since: "2026-11-27", replacedBy: "GET /v2/things" }, or leave it out.',
        ),
      ),
    ),
    permission: Type.String(
      issueOfHolder('it has no permission.', 'Name one, or a class of keys like "any key".'),
    ),
    audit: Type.Optional(Type.Unknown()),
    input: objectSchema,
    output: objectSchema,
    body: nameOfMember('body', 'input'),
    consumes: Type.Optional(
      Type.Array(
        Type.String({ pattern: '^[a-z]+/[a-z0-9.+-]+$' }),
        issueOfHolder(
          '"consumes" is not a list of content types.',
          'Write it like ["application/merge-patch+json"].',
        ),
      ),
    ),
    validatedBy: Type.Optional(
      Type.Literal('run', issueOfHolder('"validatedBy" is not "run".', "Write 'run', or leave it out.")),
    ),
    responseBody: nameOfMember('responseBody', 'output'),
    status: Type.Optional(
      Type.Enum(
        STATUSES,
        issueOfHolder('{value} is not a status of success.', `Use one of ${STATUSES.join(', ')}.`),
      ),
    ),
    statusOf: optionalFunction('statusOf', '(output) => 200 | 202'),
    runsCode: flag('runsCode'),
    transient: Type.Optional(
      Type.Array(
        Type.String(),
        issueOfHolder('"transient" is not a list of names.', 'Name members of the output schema.'),
      ),
    ),
    singleRead: flag('singleRead'),
    location: optionalFunction('location', '(output) => string'),
    errors: Type.Optional(
      Type.Array(
        Type.Enum(ERROR_CODES),
        issueOfHolder('"errors" is not a list of error codes.', `Known are ${ERROR_CODES.join(', ')}.`),
      ),
    ),
    examples: Type.Optional(ExampleCalls),
    run: Callable(issueOfHolder('it has no run function.', 'Add run(input, call).')),
  } satisfies Record<keyof Operation, TSchema>,
  {
    ...issue('it is not an object.', 'Use defineOperation({ … }).'),
    ...noOthers('an operation has no member "{member}".'),
  },
)

const AuditRecord = Type.Object(
  {
    entity: Type.String(),
    verb: Type.String(),
    message: Type.Optional(
      Type.String({
        maxLength: MAX_MESSAGE,
        ...issueOfHolder(
          `its message is not text of at most ${MAX_MESSAGE} characters.`,
          'Shorten it, or leave it out.',
        ),
      }),
    ),
    id: optionalFunction('id', '(call, input, output) => string'),
  } satisfies Record<keyof AuditDeclaration, TSchema>,
  issue('it has no audit record.', "Give { entity, verb }, or 'none'."),
)

/** Paths of the service itself. */
const OWN_PATHS = ['healthz', 'readyz', 'metrics', 'openapi.json', 'docs', 'proxy', 'ca.pem']

export const methodOf = (operation: Operation): string => operation.http.slice(0, operation.http.indexOf(' '))

export const pathOf = (operation: Operation): string => operation.http.slice(operation.http.indexOf(' ') + 1)

/** The description of an operation for all documents, with its deprecation. */
export const descriptionOf = ({ description, deprecated }: Operation): string | undefined =>
  deprecated === undefined
    ? description
    : [
        `Deprecated since ${deprecated.since}: use \`${deprecated.replacedBy}\`.`,
        ...(description === undefined ? [] : [description]),
      ].join(' ')

/** True when success has an empty response. */
export const returnsNothing = (operation: Operation): boolean =>
  operation.status === 204 || Object.keys(asSchema(operation.output).properties ?? {}).length === 0

/** Names of the `{members}` of a path, in order. */
export const pathParams = (path: string): string[] =>
  [...path.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name!)

/**
 * Operations on an entity that can be read, and updated or deleted, at one path. `changing` ones know `If-Match`;
 * responses of `versioned` ones have an `ETag`.
 */
export const entityOperations = (
  operations: readonly Operation[],
): { readonly changing: ReadonlySet<Operation>; readonly versioned: ReadonlySet<Operation> } => {
  const of = (...methods: string[]) => operations.filter((operation) => methods.includes(methodOf(operation)))
  const read = new Set(of('GET').map(pathOf))
  const changed = new Set(of('PUT', 'PATCH', 'DELETE').map(pathOf))
  const isOnEntity = (operation: Operation) => read.has(pathOf(operation)) && changed.has(pathOf(operation))
  const places = new Set(operations.filter(isOnEntity).map((operation) => routeKey(pathOf(operation))))
  const creating = of('POST').filter(
    (operation) => operation.location !== undefined && places.has(`${routeKey(pathOf(operation))}/{}`),
  )
  return {
    changing: new Set(of('PUT', 'PATCH', 'DELETE').filter(isOnEntity)),
    versioned: new Set([...of('GET', 'PUT', 'PATCH').filter(isOnEntity), ...creating]),
  }
}

/** The key under which two operations would collide: parameter names do not tell routes apart. */
export const routeKey = (http: string): string => http.replaceAll(/\{[^}]*\}/g, '{}').replace(/(.)\/$/, '$1')

interface Checked {
  readonly input: JsonSchema
  readonly output: JsonSchema
  readonly isValid: IsValid
}

const checkPath = (operation: Operation, input: JsonSchema, issues: Issues) => {
  const path = pathOf(operation)
  const segments = path.slice(1).split('/')
  if (segments.some((segment) => !SEGMENT.test(segment)))
    issues.add(
      `the path "${path}" holds a segment that is neither plain text nor one {member}.`,
      'Write it like /things/{id}, without a trailing slash.',
    )
  if (OWN_PATHS.includes(segments[0]!))
    issues.add(`"/${segments[0]}" belongs to the service itself.`, 'Choose another path.')
  const params = pathParams(path)
  if (new Set(params).size !== params.length)
    issues.add(`the path "${path}" names a member twice.`, 'Name each once.')
  for (const name of params) {
    const property = input.properties?.[name]
    if (property === undefined)
      issues.add(`the path member {${name}} is not in the input schema.`, `Add "${name}" to it.`)
    else if (!input.required?.includes(name) || !(allows(property, 'string') || allows(property, 'integer')))
      issues.add(
        `the path member {${name}} is not a required string or integer of the input.`,
        'A path always holds it: make it one.',
      )
  }
}

const checkBodies = (operation: Operation, { input, output, isValid }: Checked, issues: Issues) => {
  const method = methodOf(operation)
  if (operation.body !== undefined && isValid('body')) {
    if (method === 'GET' || method === 'DELETE')
      issues.add(`a ${method} has no request body, and "body" names one.`, 'Remove "body", or use POST.')
    if (input.properties?.[operation.body] === undefined)
      issues.add(
        `the body member "${operation.body}" is not in the input schema.`,
        'Add it, or correct "body".',
      )
    else if (pathParams(pathOf(operation)).includes(operation.body))
      issues.add(`"${operation.body}" is both in the path and the body.`, 'Choose one.')
  }
  if (
    operation.responseBody !== undefined &&
    isValid('responseBody') &&
    output.properties?.[operation.responseBody] === undefined
  )
    issues.add(
      `the response body member "${operation.responseBody}" is not in the output schema.`,
      'Add it, or correct "responseBody".',
    )
  if (operation.status === 201 && operation.location === undefined)
    issues.add('a 201 has no Location.', 'Add location(output), the path of what was created.')
}

const checkAudit = ({ audit, responseBody }: Operation, { input, output }: Checked, issues: Issues) => {
  if (audit === 'none') return
  if (!checkDeclaration(AuditRecord, audit, issues)() || audit.id !== undefined) return
  const body = responseBody === undefined ? undefined : output.properties?.[responseBody]
  if (!output.properties?.id && !body?.properties?.id && !input.properties?.id)
    issues.add(
      'neither output nor input has an "id" that the audit record could name.',
      "Add one, or declare audit: 'none' and write the records elsewhere.",
    )
}

/** All issues of one operation by itself; conflicts.ts has those between operations. */
export const checkOperation = (
  operation: Operation,
  permissions: ReadonlySet<string>,
  issues: Issues,
): void => {
  const isValid = checkDeclaration(OperationDeclaration, operation, issues)
  const { permission } = operation
  if (isValid('permission') && !isKeyClass(permission) && !permissions.has(permission))
    issues.add(
      `its permission "${permission}" is declared by no plugin.`,
      'Add it to the "permissions" of a plugin, with the application types that may hold it.',
    )
  for (const name of ['input', 'output'] as const)
    if (isValid(name)) {
      checkFields(asSchema(operation[name]), issues.at(name))
      checkCompiles(operation[name], issues.at(name))
    }
  const checked = { input: asSchema(operation.input), output: asSchema(operation.output), isValid }
  if (isValid('http')) {
    checkPath(operation, checked.input, issues.at('http'))
    checkBodies(operation, checked, issues)
  }
  checkAudit(operation, checked, issues.at('audit'))
  if (isValid('examples')) checkExamples(operation, isValid, issues)
}
