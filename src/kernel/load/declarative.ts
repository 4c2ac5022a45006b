import { Type } from '../../common/json-schema.ts'
import type { Plugin } from '../../sdk/index.ts'
import { checkDeclaration, issue, issueOfHolder, noOthers } from '../check/declaration.ts'
import type { Issues } from '../check/issues.ts'
import { TokenTypeDeclaration } from '../check/token-type.ts'

const unknownMember = noOthers('there is no member "{member}" in a declarative plugin.')

const anyOf = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, Type.Optional(Type.Unknown())]))

/** Members of a token type in a JSON file: all but functions. */
const TYPE_MEMBERS = Object.keys(TokenTypeDeclaration.properties).filter(
  (name) => name !== 'normalize' && name !== 'check',
)

const tokenType = Type.Object(anyOf(TYPE_MEMBERS), {
  ...issue('it is not an object.', 'Write { "name", "title", "data", "container" }.'),
  ...unknownMember,
})

/** Schema of what is particular to the JSON form; the rest is checked as for other plugins. */
const DeclarativePlugin = Type.Object(
  {
    ...anyOf(['api', 'name', 'version', 'requires', '$schema']),
    tokenTypes: Type.Array(tokenType, {
      minItems: 1,
      ...issueOfHolder(
        '"tokenTypes" is missing or empty.',
        'A declarative plugin declares at least one token type.',
      ),
    }),
  },
  {
    ...issue(
      'a declarative plugin is a JSON object.',
      'Write { "api": 1, "name", "version", "tokenTypes": [ … ] }.',
    ),
    ...unknownMember,
  },
)

/**
 * A plugin from its JSON form. Only the specifics of that form are checked here: member names, and that token types
 * are present; the rest is checked as for other plugins.
 */
export const declarativePlugin = (json: unknown, issues: Issues): Plugin | undefined => {
  const isValid = checkDeclaration(DeclarativePlugin, json, issues)
  if (!isValid('tokenTypes')) return undefined
  const { api, name, version, requires, tokenTypes } = json as Record<string, unknown>
  return {
    api,
    name,
    version,
    ...(requires === undefined ? {} : { requires }),
    setup: () => ({ tokenTypes }),
  } as unknown as Plugin
}
