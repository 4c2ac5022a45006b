import type { TSchema } from 'typebox'
import { isObject } from '../../common/json.ts'
import { Type } from '../../common/json-schema.ts'
import { compileValidator } from '../../common/validate.ts'
import type { PortDeclaration, Ports } from '../../sdk/index.ts'
import type { LoadedPlugin } from '../types.ts'
import { Callable, checkCompiles, checkDeclaration, issue, issueOfHolder, noOthers } from './declaration.ts'
import { firstLine, type Issue, type Issues, issuesAt } from './issues.ts'

/** Schema of a port: an object with the functions. */
const port = (...functions: readonly string[]) =>
  Type.Object(
    Object.fromEntries(
      functions.map((name) => [
        name,
        Callable(issueOfHolder('it lacks the function "{member}".', 'Add it.')),
      ]),
    ),
    issue('it is not an object.', `Give an object with ${functions.join(', ') || 'what its schema says'}.`),
  )

const BUILT_IN: Readonly<Record<keyof Ports, TSchema>> = {
  credentials: port('authenticate', 'install'),
  sessions: port('authenticate'),
  applications: port('get'),
  console: port('find', 'signIn', 'renew', 'end'),
  members: port('acceptInvitation'),
  invitations: port('onInvited'),
  proxies: port('find', 'newest'),
  reactors: port('programs'),
}

/** Schema of the declaration of an open port. */
const OpenPortDeclaration = Type.Object(
  {
    name: Type.String({
      pattern: '^[a-z][a-z0-9-]{0,49}$',
      ...issueOfHolder(
        'its name is not valid.',
        'Use lower-case letters, digits and dashes, a letter first, at most 50.',
      ),
    }),
    functions: Type.Optional(
      Type.Array(
        Type.String({ minLength: 1 }),
        issueOfHolder('"functions" is not a list of names.', 'Write it like ["page"].'),
      ),
    ),
    schema: Type.Optional(
      Type.Object({}, issueOfHolder('"schema" is not a schema.', 'Give a typebox object schema.')),
    ),
  } satisfies Record<keyof PortDeclaration, TSchema>,
  noOthers('an open port has no member "{member}".'),
)

/** All issues of the declaration of an open port by itself. */
export const checkOpenPort = (declared: PortDeclaration, issues: Issues): void => {
  const isValid = checkDeclaration(OpenPortDeclaration, declared, issues)
  if (declared.functions === undefined && declared.schema === undefined)
    issues.add(
      'it says nothing of what a provider gives.',
      'Add "functions", a list of names, or "schema", a JSON Schema.',
    )
  if (declared.schema !== undefined && isValid('schema')) checkCompiles(declared.schema, issues.at('schema'))
}

/** Open ports by their names in the service; undefined for a declaration that has an issue. */
export type OpenPorts = ReadonlyMap<string, PortDeclaration | undefined>

/** The open ports of all plugins. */
export const openPortsOf = (loaded: readonly LoadedPlugin[]): OpenPorts =>
  new Map(
    loaded.flatMap(({ plugin, contribution }) =>
      (contribution.openPorts ?? []).map((declared) => {
        const issues: Issue[] = []
        checkOpenPort(declared, issuesAt('', issues))
        return [`${plugin.name}/${declared.name}`, issues.length === 0 ? declared : undefined] as const
      }),
    ),
  )

/** Functions are not of the schema, which is for JSON. */
const checkMembers = (value: object, schema: TSchema, issues: Issues): void => {
  const members = Object.entries(value).filter(([, member]) => typeof member !== 'function')
  try {
    const error = compileValidator(schema)(structuredClone(Object.fromEntries(members)))
    for (const [path, sentences] of Object.entries(error?.errors ?? {}))
      for (const sentence of sentences) issues.add(`"${path}" ${sentence}.`, 'Give what its schema says.')
  } catch (thrown) {
    issues.add(`its members are not JSON: ${firstLine(thrown)}.`, 'Give what its schema says.')
  }
}

/** All issues of what a plugin provides as a port. */
export const checkPort = (name: string, value: unknown, openPorts: OpenPorts, issues: Issues): void => {
  if (Object.hasOwn(BUILT_IN, name)) checkDeclaration(BUILT_IN[name as keyof Ports], value, issues)
  else if (!openPorts.has(name))
    issues.add(
      'there is no such port.',
      `Correct the name, or install the plugin that opens it. Known are ${[...Object.keys(BUILT_IN), ...openPorts.keys()].join(', ')}.`,
    )
  const declared = openPorts.get(name)
  if (declared === undefined) return
  checkDeclaration(port(...(declared.functions ?? [])), value, issues)
  if (declared.schema !== undefined && isObject(value)) checkMembers(value, declared.schema, issues)
}
