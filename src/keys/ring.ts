import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import { encodeBase58 } from '../common/base58.ts'
import type { KeyRow } from '../store/keys/types.ts'
import { lengthPrefixed } from './bytes.ts'
import type { Roots } from './root-key-rows.ts'
import { createSealer, macOf, open, versionOf } from './seal.ts'
import type { SealContext, TenantKeys } from './types.ts'
import { subkey } from './wrap.ts'

const TERM = 16

/** A version of a data key, with the keys derived from it. */
interface DataKey {
  readonly seal: KeyObject
  readonly mac: KeyObject
}

/** The unwrapped keys of one tenant. Key material is in private KeyObjects, which cannot be printed. */
export class Ring implements TenantKeys {
  readonly #data: ReadonlyMap<number, DataKey>
  readonly #newest: number
  readonly seal: TenantKeys['seal']
  readonly #fingerprint: KeyObject
  readonly #term: KeyObject
  #missed = false

  constructor(data: ReadonlyMap<number, DataKey>, macKey: Buffer) {
    this.#data = data
    this.#newest = Math.max(...data.keys())
    this.seal = createSealer(data.get(this.#newest)!.seal, this.#newest)
    this.#fingerprint = createSecretKey(subkey(macKey, 'fingerprint'))
    this.#term = createSecretKey(subkey(macKey, 'search term'))
  }

  open(sealed: Buffer, context: SealContext): Buffer {
    return open((version) => this.#keyOf(version)?.seal, sealed, context)
  }

  isCurrent(sealed: Buffer): boolean {
    return versionOf(sealed) === this.#newest
  }

  mac(...parts: readonly string[]): Buffer {
    return macOf(this.#data.get(this.#newest)!.mac, this.#newest, parts)
  }

  verifies(mac: Buffer, ...parts: readonly string[]): boolean {
    const version = versionOf(mac)
    const key = version === undefined ? undefined : this.#keyOf(version)
    if (version === undefined || key === undefined) return false
    const expected = macOf(key.mac, version, parts)
    return expected.length === mac.length && timingSafeEqual(expected, mac)
  }

  fingerprint(type: string, value: string): string {
    return encodeBase58(createHmac('sha256', this.#fingerprint).update(lengthPrefixed(type, value)).digest())
  }

  term(value: string): Buffer {
    return createHmac('sha256', this.#term).update(lengthPrefixed(value)).digest().subarray(0, TERM)
  }

  /** True if the ring has this version of the data key. */
  holds(version: number): boolean {
    return this.#data.has(version)
  }

  /** True once a value named a version that the ring does not have: another process may have rotated the key. */
  get missed(): boolean {
    return this.#missed
  }

  #keyOf(version: number): DataKey | undefined {
    const key = this.#data.get(version)
    if (key === undefined) this.#missed = true
    return key
  }
}

/** True for rows of keys, not of markers. */
export const isKey = ({ purpose }: KeyRow): boolean => purpose === 'data' || purpose === 'mac'

/** The ring of a tenant's rows. Undefined if a row cannot be unwrapped, or there is no data key or no mac key. */
export const ringOf = (rows: readonly KeyRow[], roots: Pick<Roots, 'unwrap'>): Ring | undefined => {
  const data = new Map<number, DataKey>()
  let mac: { readonly version: number; readonly key: Buffer } | undefined
  for (const row of rows) {
    if (!isKey(row)) continue
    const key = roots.unwrap(row)
    if (key === undefined) return undefined
    if (row.purpose === 'data')
      data.set(row.version, {
        seal: createSecretKey(key),
        mac: createSecretKey(subkey(key, 'record mac')),
      })
    else if (mac === undefined || row.version > mac.version) mac = { version: row.version, key }
  }
  return data.size === 0 || mac === undefined ? undefined : new Ring(data, mac.key)
}
