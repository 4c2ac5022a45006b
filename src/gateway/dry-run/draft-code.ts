/** Code of a stored proxy that is not saved yet, for dry runs. */
import { AppError } from '../../common/errors.ts'
import type { StoredProxy } from '../../sdk/index.ts'
import { type Head, type HeaderRules, jsonHeader, prefixed } from '../headers.ts'

const MEMBERS = { request_transform: 'requestTransform', response_transform: 'responseTransform' } as const

const isMember = (name: string): name is keyof typeof MEMBERS => Object.hasOwn(MEMBERS, name)

/**
 * The proxy with the code of the header: JSON of `request_transform` and `response_transform`, each a text, or null for
 * no code. A member that is left out stays as saved. Throws `malformed`.
 */
export const withDraftCode = (
  proxy: StoredProxy | undefined,
  head: Head,
  prefixes: HeaderRules,
): StoredProxy | undefined => {
  const sent = prefixed(head, prefixes, 'dryRunCode')
  if (sent === undefined) return proxy
  const [{ dryRunCode }] = prefixes.ofPrefixes as readonly [HeaderRules['ofPrefixes'][number]]
  const malformed = (why: string) => new AppError('malformed', `The header "${dryRunCode}" ${why}`)
  if (proxy === undefined) throw malformed('is for stored proxies. Send a proxy key.')
  const issue = malformed(
    'is not a draft. Send JSON: {"request_transform":"module.exports = …","response_transform":null}.',
  )
  const draft: Record<string, unknown> = { ...proxy }
  for (const [name, code] of Object.entries(jsonHeader(sent, issue))) {
    if (!isMember(name) || (typeof code !== 'string' && code !== null)) throw issue
    if (code) draft[MEMBERS[name]] = code
    else delete draft[MEMBERS[name]]
  }
  return draft as unknown as StoredProxy
}
