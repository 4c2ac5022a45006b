import { isObject } from '../../common/json.ts'
import type { Plugin, TokenType } from '../../sdk/index.ts'
import type { Issues } from '../check/issues.ts'

const PLUGIN_MEMBERS = ['api', 'name', 'version', 'requires', 'tokenTypes', '$schema']

/** Members of a token type in a JSON file: all but functions. */
const TYPE_MEMBERS = [
  'name',
  'title',
  'data',
  'checks',
  'writeOnly',
  'container',
  'mask',
  'fingerprint',
  'searchIndexes',
  'ephemeral',
  'examples',
]

const unknownMembers = (value: Record<string, unknown>, known: readonly string[], issues: Issues) => {
  for (const name of Object.keys(value))
    if (!known.includes(name))
      issues.add(`there is no member "${name}" in a declarative plugin.`, `Known are ${known.join(', ')}.`)
}

/**
 * A plugin from its JSON form. Only the specifics of that form are checked here: member names, and that token types
 * are present; the rest is checked as for other plugins.
 */
export const declarativePlugin = (json: unknown, issues: Issues): Plugin | undefined => {
  if (!isObject(json)) {
    issues.add(
      'a declarative plugin is a JSON object.',
      'Write { "api": 1, "name", "version", "tokenTypes": [ … ] }.',
    )
    return undefined
  }
  unknownMembers(json, PLUGIN_MEMBERS, issues)
  const { tokenTypes } = json
  if (!Array.isArray(tokenTypes) || tokenTypes.length === 0) {
    issues.add('"tokenTypes" is missing or empty.', 'A declarative plugin declares at least one token type.')
    return undefined
  }
  for (const [index, type] of tokenTypes.entries()) {
    const at = issues.at(`tokenTypes[${index}]`)
    if (isObject(type)) unknownMembers(type, TYPE_MEMBERS, at)
  }
  const { api, name, version, requires } = json
  return {
    api,
    name,
    version,
    ...(requires === undefined ? {} : { requires }),
    setup: () => ({ tokenTypes: tokenTypes as TokenType[] }),
  } as unknown as Plugin
}
