/** Hosts of lists of destinations (completions §14): a DNS name, `*.` and a name, or an address. */
import { isIP, isIPv6 } from 'node:net'
import { isDnsName, withoutBrackets } from './address.ts'

const WILDCARD = '*.'

/** Characters that URL parsers drop, split at, or decode. */
const UNSAFE = /[\s\p{Cc}\p{Cf}/?#@\\%:[\]*]/u

/** The host of a URL in its canonical form, without a final dot; undefined when it is none. */
const canonical = (text: string): string | undefined => {
  const url = URL.parse(`https://${text}`)
  return url === null ? undefined : withoutBrackets(url.hostname).replace(/\.$/, '')
}

/** The stored form of a host pattern; undefined when it is malformed. */
export const parseHostPattern = (text: string): string | undefined => {
  const address = withoutBrackets(text)
  if (isIPv6(address)) return address.includes('%') ? undefined : canonical(`[${address}]`)
  const isWildcard = text.startsWith(WILDCARD)
  const name = isWildcard ? text.slice(WILDCARD.length) : text
  if (UNSAFE.test(name)) return undefined
  const host = canonical(name)
  if (host === undefined) return undefined
  if (isIP(host) !== 0) return isWildcard ? undefined : host
  return isDnsName(host) ? `${isWildcard ? WILDCARD : ''}${host}` : undefined
}

/** Whether `pattern` holds a dialed host; also whether it holds all hosts of another pattern. */
export const holdsHost = (pattern: string, dialed: string): boolean => {
  const host = withoutBrackets(dialed)
  if (pattern === host) return true
  if (!pattern.startsWith(WILDCARD) || !host.endsWith(pattern.slice(1))) return false
  const label = host.slice(0, 1 - pattern.length)
  return label !== '' && !label.includes('.')
}
