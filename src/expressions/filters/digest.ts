import { createHmac } from 'node:crypto'
import { badFilter } from '../errors.ts'
import { Bytes } from '../values.ts'
import { type FilterRules, type InnerFilter, stringArg, textOf } from './filter.ts'

const ALGORITHMS: Readonly<Record<string, string>> = {
  sha1: 'sha1',
  sha256: 'sha256',
  sha384: 'sha384',
  sha512: 'sha512',
}

const bytesOf = (value: unknown, name: string): Buffer =>
  value instanceof Bytes ? value.buffer : Buffer.from(textOf(value, name))

/** Units for a hash, in addition to its length. */
const HASH = 100

/** `hmac: algorithm='sha-256', key` (RFC 2104): bytes, for `to_base16` or `to_base64`; as a result, base64. */
const hmac: InnerFilter = (value, args, name, use) => {
  use(HASH)
  const normalized = stringArg(args, 0, name, 'sha-256').slice(0, 20).toLowerCase().replace(/[-_]/g, '')
  const algorithm = Object.hasOwn(ALGORITHMS, normalized) ? ALGORITHMS[normalized] : undefined
  if (algorithm === undefined)
    throw badFilter(name, "supports the algorithms 'sha-1', 'sha-256', 'sha-384' and 'sha-512'.")
  const key = stringArg(args, 1, name)
  if (key === '') throw badFilter(name, 'needs a key as argument 2.')
  return new Bytes(createHmac(algorithm, key).update(bytesOf(value, name)).digest())
}

export const digestFilters: FilterRules = {
  hmac: { run: hmac, rate: 1 / 4, takesBytes: true, forOpaque: 'not in URLs', takesVariables: true },
  /** Upper-case hexadecimal of bytes, or of a text's UTF-8. */
  to_base16: {
    run: (value, _args, name) => bytesOf(value, name).toString('hex').toUpperCase(),
    rate: 1 / 8,
    takesBytes: true,
    forOpaque: 'anywhere',
  },
  to_base64: {
    run: (value, _args, name) => bytesOf(value, name).toString('base64'),
    rate: 1 / 8,
    takesBytes: true,
    forOpaque: 'not in URLs',
  },
}
