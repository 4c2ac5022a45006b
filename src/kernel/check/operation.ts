import { isKeyClass } from '../../access/authorize.ts'
import { ERRORS } from '../../common/errors.ts'
import { isObject } from '../../common/json.ts'
import { compileValidator } from '../../common/validate.ts'
import type { Operation } from '../../sdk/index.ts'
import { checkExamples } from './examples.ts'
import { checkFields } from './fields.ts'
import type { Issues } from './issues.ts'
import { allows, asSchema, type JsonSchema } from './json-schema.ts'

const RPC = /^[A-Z][A-Za-z0-9]{0,49}\.[A-Z][A-Za-z0-9]{0,49}$/
const HTTP = /^(GET|POST|PUT|PATCH|DELETE) (\/\S*)$/
const SEGMENT = /^(?:[A-Za-z0-9._~-]+|\{[A-Za-z_][A-Za-z0-9_]*\})$/
const STATUSES = [200, 201, 202, 204]
const CONTENT_TYPE = /^[a-z]+\/[a-z0-9.+-]+$/
const MAX_MESSAGE = 250
const MEMBERS = [
  'rpc',
  'http',
  'summary',
  'description',
  'permission',
  'audit',
  'input',
  'output',
  'body',
  'consumes',
  'validatedBy',
  'responseBody',
  'status',
  'statusOf',
  'runsCode',
  'transient',
  'singleRead',
  'location',
  'errors',
  'examples',
  'run',
]

/** Paths of the service itself. */
const OWN_PATHS = ['healthz', 'readyz', 'metrics', 'openapi.json', 'docs', 'proxy', 'ca.pem']

export const methodOf = (operation: Operation): string => operation.http.slice(0, operation.http.indexOf(' '))

export const pathOf = (operation: Operation): string => operation.http.slice(operation.http.indexOf(' ') + 1)

/** True when success has an empty response. */
export const returnsNothing = (operation: Operation): boolean =>
  operation.status === 204 || Object.keys(asSchema(operation.output).properties ?? {}).length === 0

/** Names of the `{members}` of a path, in order. */
export const pathParams = (path: string): string[] =>
  [...path.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name!)

/** The key under which two operations would collide: parameter names do not tell routes apart. */
export const routeKey = (http: string): string => http.replaceAll(/\{[^}]*\}/g, '{}').replace(/(.)\/$/, '$1')

const checkPath = (operation: Operation, input: JsonSchema, issues: Issues) => {
  const match = HTTP.exec(String(operation.http))
  if (!match) {
    issues.add(`"${operation.http}" is not a method and a path.`, 'Write it like "GET /things/{id}".')
    return
  }
  const path = match[2]!
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

const checkBodies = (operation: Operation, input: JsonSchema, output: JsonSchema, issues: Issues) => {
  const method = methodOf(operation)
  if (operation.body !== undefined) {
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
  if (operation.responseBody !== undefined && output.properties?.[operation.responseBody] === undefined)
    issues.add(
      `the response body member "${operation.responseBody}" is not in the output schema.`,
      'Add it, or correct "responseBody".',
    )
  const { consumes } = operation
  if (
    consumes !== undefined &&
    !(
      Array.isArray(consumes) && consumes.every((type) => typeof type === 'string' && CONTENT_TYPE.test(type))
    )
  )
    issues.add(
      '"consumes" is not a list of content types.',
      'Write it like ["application/merge-patch+json"].',
    )
  const status = operation.status ?? 200
  if (!STATUSES.includes(status))
    issues.add(`${status} is not a status of success.`, `Use one of ${STATUSES.join(', ')}.`)
  if (operation.statusOf !== undefined && typeof operation.statusOf !== 'function')
    issues.add('its statusOf is not a function.', 'Give (output) => 200 | 202, or leave it out.')
  if (status === 201 && typeof operation.location !== 'function')
    issues.add('a 201 has no Location.', 'Add location(output), the path of what was created.')
}

const checkAudit = (operation: Operation, input: JsonSchema, output: JsonSchema, issues: Issues) => {
  const { audit } = operation
  if (audit === 'none') return
  if (!isObject(audit) || typeof audit.entity !== 'string' || typeof audit.verb !== 'string') {
    issues.add('it has no audit record.', "Give { entity, verb }, or 'none'.")
    return
  }
  if (typeof audit.message === 'string' && audit.message.length > MAX_MESSAGE)
    issues.add(`its message is longer than ${MAX_MESSAGE} characters.`, 'Shorten it.')
  const body = operation.responseBody === undefined ? undefined : output.properties?.[operation.responseBody]
  if (audit.id !== undefined && typeof audit.id !== 'function')
    issues.add('its id is not a function.', 'Give (call, input, output) => string, or leave it out.')
  if (!audit.id && !output.properties?.id && !body?.properties?.id && !input.properties?.id)
    issues.add(
      'neither output nor input has an "id" that the audit record could name.',
      "Add one, or declare audit: 'none' and write the records elsewhere.",
    )
}

const checkSchema = (name: string, schema: unknown, issues: Issues): JsonSchema => {
  const at = issues.at(name)
  const read = asSchema(schema)
  if (read.type !== 'object') {
    at.add('it is not an object schema.', 'Use Type.Object({ … }).')
    return read
  }
  checkFields(read, at)
  try {
    compileValidator(schema)
  } catch (thrown) {
    at.add(`the schema does not compile: ${(thrown as Error).message}.`, 'Correct it.')
  }
  return read
}

const checkErrors = ({ errors = [] }: Operation, issues: Issues) => {
  if (!(Array.isArray(errors) && errors.every((code) => Object.hasOwn(ERRORS, code))))
    issues.add('"errors" is not a list of error codes.', `Known are ${Object.keys(ERRORS).join(', ')}.`)
}

/** All issues of one operation by itself; conflicts.ts has those between operations. */
export const checkOperation = (
  operation: Operation,
  permissions: ReadonlySet<string>,
  issues: Issues,
): void => {
  if (typeof operation.rpc !== 'string' || !RPC.test(operation.rpc))
    issues.add('its rpc is not "Service.Method".', 'Write it like "Things.Create".')
  for (const member of Object.keys(operation))
    if (!MEMBERS.includes(member))
      issues.add(`an operation has no member "${member}".`, `Known are ${MEMBERS.join(', ')}.`)
  if (typeof operation.summary !== 'string' || operation.summary === '')
    issues.add('it has no summary.', 'Say in a few words what it does.')
  if (typeof operation.run !== 'function') issues.add('it has no run function.', 'Add run(input, call).')
  const { permission } = operation
  if (!isKeyClass(permission) && !permissions.has(permission))
    issues.add(
      `its permission "${permission}" is declared by no plugin.`,
      'Add it to the "permissions" of a plugin, with the application types that may hold it.',
    )
  const input = checkSchema('input', operation.input, issues)
  const output = checkSchema('output', operation.output, issues)
  checkPath(operation, input, issues.at('http'))
  if (HTTP.test(String(operation.http))) checkBodies(operation, input, output, issues)
  checkAudit(operation, input, output, issues.at('audit'))
  checkErrors(operation, issues)
  checkExamples(operation, issues)
}
