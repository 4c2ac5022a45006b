/** Key objects: PEM, or a secret's bytes. The host imports them for every use. */
import { callSync } from '../bridge.ts'
import { fromLatin1, toWire, type Wire } from '../bytes.ts'

type Kind = 'secret' | 'public' | 'private'

interface Described {
  readonly type: Kind
  readonly size?: number
  readonly asymmetricKeyType?: string
  readonly asymmetricKeyDetails?: Readonly<Record<string, unknown>>
  readonly data: Wire
}

/** A key as host functions accept it. */
export type WireKey = Readonly<Record<string, unknown>>

const details = (known: Described['asymmetricKeyDetails']) =>
  typeof known?.publicExponent === 'string'
    ? { ...known, publicExponent: BigInt(known.publicExponent) }
    : known

interface ExportOptions {
  readonly format?: string
  readonly type?: string
  readonly cipher?: string
  readonly passphrase?: unknown
}

export class KeyObject {
  readonly #described: Described

  constructor(described: Described) {
    this.#described = described
  }

  get type(): Kind {
    return this.#described.type
  }

  get symmetricKeySize(): number | undefined {
    return this.#described.size
  }

  get asymmetricKeyType(): string | undefined {
    return this.#described.asymmetricKeyType
  }

  get asymmetricKeyDetails(): Readonly<Record<string, unknown>> | undefined {
    return details(this.#described.asymmetricKeyDetails)
  }

  export({ passphrase, ...options }: ExportOptions = {}): unknown {
    const secret = passphrase === undefined ? {} : { passphrase: toWire(passphrase) }
    const result = callSync<{ readonly latin1?: string; readonly value?: unknown }>(
      'crypto.key.export',
      this.wire(),
      { ...options, ...secret },
    )
    return result.latin1 === undefined ? result.value : fromLatin1(result.latin1)
  }

  equals(other: KeyObject): boolean {
    const { data } = other.#described
    return this.type === other.type && data[0] === this.#described.data[0]
  }

  /** For the host. */
  wire(): WireKey {
    return { object: this.type, data: this.#described.data }
  }

  /** A secret's bytes. */
  bytes(): Wire {
    return this.#described.data
  }
}

const OPTIONS = ['format', 'type', 'padding', 'saltLength', 'oaepHash', 'dsaEncoding'] as const

/** Converts a key argument: text, bytes, a key object, or an object with a key and options. */
export const keyWire = (key: unknown): WireKey => {
  if (key instanceof KeyObject) return key.wire()
  if (typeof key !== 'object' || key === null || ArrayBuffer.isView(key) || key instanceof ArrayBuffer)
    return { data: toWire(key, undefined, 'key') }
  const input = key as Readonly<Record<string, unknown>>
  const inner =
    input.format === 'jwk' ? { jwk: input.key } : 'key' in input ? keyWire(input.key) : { jwk: input }
  const options: Record<string, unknown> = {}
  for (const name of OPTIONS) if (input[name] !== undefined) options[name] = input[name]
  if (input.encoding !== undefined && typeof input.key === 'string')
    return { ...options, data: toWire(input.key, input.encoding as string) }
  return {
    ...inner,
    ...options,
    ...(input.passphrase === undefined ? {} : { passphrase: toWire(input.passphrase) }),
    ...(input.oaepLabel === undefined ? {} : { oaepLabel: toWire(input.oaepLabel) }),
  }
}

/** Converts a secret argument of HMAC and ciphers. */
export const secretWire = (key: unknown): Wire =>
  key instanceof KeyObject ? key.bytes() : toWire(key, undefined, 'key')

const make = (kind: Kind, wire: WireKey) => new KeyObject(callSync('crypto.key', kind, wire))

export const createSecretKey = (key: unknown, encoding?: string): KeyObject =>
  make('secret', { data: toWire(key, encoding, 'key') })
export const createPublicKey = (key: unknown): KeyObject => make('public', keyWire(key))
export const createPrivateKey = (key: unknown): KeyObject => make('private', keyWire(key))

interface Pair {
  readonly publicKey: Described
  readonly privateKey: Described
}

interface PairOptions extends Readonly<Record<string, unknown>> {
  readonly publicKeyEncoding?: ExportOptions
  readonly privateKeyEncoding?: ExportOptions
}

export const generateKeyPairSync = (type: string, options: PairOptions = {}) => {
  const { publicKeyEncoding, privateKeyEncoding, ...rest } = options
  const pair = callSync<Pair>('crypto.keyPair', type, rest)
  const encoded = (key: KeyObject, encoding: ExportOptions | undefined) =>
    encoding ? key.export(encoding) : key
  return {
    publicKey: encoded(new KeyObject(pair.publicKey), publicKeyEncoding),
    privateKey: encoded(new KeyObject(pair.privateKey), privateKeyEncoding),
  }
}
