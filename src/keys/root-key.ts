import { randomBytes, scrypt } from 'node:crypto'
import { join, resolve } from 'node:path'
import { AppError } from '../common/errors.ts'
import { Secret } from '../common/secret.ts'
import { createSecretFile, readSecretFile } from '../common/secret-file.ts'

const KEY = 32
const SALT = 16
const SHORTEST_PASSPHRASE = 12

/** The configured source of the root key cannot be right: a retry fails too. */
export class RootKeySourceError extends AppError {
  readonly configuration = true

  constructor(message: string) {
    super('invalid', message)
  }
}

/** The highest of OWASP's scrypt settings (RFC 7914): about 128 MiB and a third of a second per attempt. */
const SCRYPT = { N: 2 ** 17, r: 8, p: 1, maxmem: 192 * 2 ** 20 } as const

interface RootKeyOptions {
  readonly dataDir: string
  /** Create the key (or salt) file if there is none. Only for a store without data. */
  readonly create: boolean
  readonly env: Readonly<Record<string, string | undefined>>
}

/** 32 bytes as 64 hex digits or as base64 (standard or URL-safe). White space around them is ignored. */
const parseKey = (text: string): Buffer | undefined => {
  const trimmed = text.trim()
  if (/^[0-9a-fA-F]{64}$/.test(trimmed)) return Buffer.from(trimmed, 'hex')
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed)) return Buffer.from(trimmed, 'base64')
  return undefined
}

/** `create`: a new key may be the remedy. For existing data it would hide the loss of the old one. */
const notAKey = (where: string, create: boolean): AppError =>
  new RootKeySourceError(
    `${where} does not contain a root key: 32 bytes as base64 or as 64 hex digits.${create ? ' To create one: openssl rand -base64 32' : ''}`,
  )

const fromFile = async (path: string, create: boolean): Promise<Buffer> => {
  const text = await readSecretFile(path)
  if (text === undefined)
    throw new AppError(
      'invalid',
      `The root key file "${path}" does not exist. ${create ? `For a new store, create it: (umask 077; openssl rand -base64 32 > '${path}')` : 'Restore its copy.'}`,
    )
  const key = parseKey(text)
  if (key === undefined) throw notAKey(`The file "${path}"`, create)
  return key
}

const fromDataDir = async ({ dataDir, create }: RootKeyOptions): Promise<Buffer> => {
  const path = join(dataDir, 'root.key')
  if (create && (await readSecretFile(path)) === undefined)
    await createSecretFile(path, `${randomBytes(KEY).toString('base64')}\n`)
  return fromFile(path, create)
}

const variable = (name: string, env: RootKeyOptions['env']): string => {
  const value = env[name]
  if (value === undefined || value === '')
    throw new RootKeySourceError(
      `SIDEVAULT_ROOT_KEY names the environment variable "${name}", which is not set. Set it, or choose another source.`,
    )
  return value
}

const saltOf = async ({ dataDir, create }: RootKeyOptions): Promise<Buffer> => {
  const path = join(dataDir, 'root.salt')
  let text = await readSecretFile(path)
  if (text === undefined && create)
    text = await createSecretFile(path, `${randomBytes(SALT).toString('base64')}\n`)
  if (text === undefined)
    throw new AppError(
      'invalid',
      `The salt file "${path}" does not exist. The root key cannot be derived without it. Restore it from a backup.`,
    )
  const salt = Buffer.from(text, 'base64')
  if (salt.length !== SALT)
    throw new AppError('invalid', `The salt file "${path}" is damaged. Restore it from a backup.`)
  return salt
}

const fromPassphrase = async (text: string, options: RootKeyOptions): Promise<Buffer> => {
  const passphrase = (text.startsWith('env:') ? variable(text.slice(4), options.env) : text).normalize('NFKC')
  if (passphrase.length < SHORTEST_PASSPHRASE)
    throw new RootKeySourceError(
      `The passphrase of the root key is too short: at least ${SHORTEST_PASSPHRASE} characters are needed.`,
    )
  const salt = await saltOf(options)
  return new Promise((done, fail) => {
    scrypt(passphrase, salt, KEY, SCRYPT, (error, key) =>
      error
        ? fail(
            new AppError(
              'invalid',
              'The root key could not be derived from the passphrase: 128 MiB of memory are needed.',
              {
                cause: error,
              },
            ),
          )
        : done(key),
    )
  })
}

/**
 * The root key (32 bytes) from `source` (SIDEVAULT_ROOT_KEY):
 *
 * - undefined: `<dataDir>/root.key`, 0600, base64; created if absent and `create` is set
 * - `file:<path>`: the same format; never created
 * - `env:<NAME>`: an environment variable
 * - `passphrase:<text>` or `passphrase:env:<NAME>`: scrypt (RFC 7914) of the text in NFKC over `<dataDir>/root.salt`,
 *   16 random bytes, created like the key file. The salt is not secret, but the key cannot be derived without it: every
 *   replica needs a copy.
 *
 * Rejects with `invalid` (AppError), which has no key material in it.
 */
export const loadRootKey = async (
  source: string | undefined,
  options: RootKeyOptions,
): Promise<Secret<Buffer>> => {
  if (source === undefined || source === '') return new Secret(await fromDataDir(options))
  const colon = source.indexOf(':')
  const scheme = source.slice(0, colon)
  const rest = source.slice(colon + 1)
  if (scheme === 'file' && rest !== '') return new Secret(await fromFile(resolve(rest), options.create))
  if (scheme === 'env' && rest !== '') {
    const key = parseKey(variable(rest, options.env))
    if (key === undefined) throw notAKey(`The environment variable "${rest}"`, options.create)
    return new Secret(key)
  }
  if (scheme === 'passphrase' && rest !== '') return new Secret(await fromPassphrase(rest, options))
  throw new RootKeySourceError(
    'SIDEVAULT_ROOT_KEY must be file:<path>, env:<NAME>, passphrase:<text> or passphrase:env:<NAME>; without it the key file of the data directory is used.',
  )
}
