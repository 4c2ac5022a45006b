import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, scrypt } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { AppError } from '../common/errors.ts'
import { parseJson } from '../common/parse-json.ts'
import type { Secret } from '../common/secret.ts'
import { partialIssue, publish } from './atomic-rename.ts'

/** Plaintext bytes of a piece. */
const PIECE = 65_536
const TAG = 16
const NONCE = 12
const KEY = 32
const SHORTEST = 12
const LONGEST_HEAD = 1_024
/** Same parameters as for root keys. */
const SCRYPT = { N: 2 ** 17, r: 8, p: 1 } as const

const damaged = (path: string): AppError =>
  new AppError(
    'invalid',
    `"${path}" cannot be opened: the passphrase is wrong, or the file is damaged. Nothing was changed.`,
  )

/** The first line is part of the key, which authenticates it. */
const keyOf = async (passphrase: Secret<string>, salt: Buffer, head: string): Promise<Buffer> => {
  const secret = await new Promise<Buffer>((done, fail) => {
    const text = passphrase.reveal().normalize('NFKC')
    scrypt(text, salt, KEY, { ...SCRYPT, maxmem: 192 * 2 ** 20 }, (error, key) =>
      error ? fail(error) : done(key),
    )
  })
  return Buffer.from(hkdfSync('sha256', secret, salt, `sidevault tenant ${head}`, KEY))
}

/** The nonce contains the number of the piece and marks the last one, so removed or reordered pieces are detected. */
const nonceOf = (number: number, last: boolean): Buffer => {
  const nonce = Buffer.alloc(NONCE)
  nonce.writeUIntBE(number, 5, 6)
  nonce.writeUInt8(last ? 1 : 0, 11)
  return nonce
}

const checkPassphrase = (passphrase: Secret<string>): void => {
  if (passphrase.reveal().length < SHORTEST)
    throw new AppError('invalid', `The passphrase is too short. Use at least ${SHORTEST} characters.`)
}

interface SealedWriter {
  write(value: unknown): Promise<void>
  /** On disk under its final name when resolved. */
  finish(): Promise<void>
  abort(): Promise<void>
}

/**
 * Writes JSON lines encrypted with AES-256-GCM under a passphrase (scrypt, RFC 7914), to a file (0600) that appears
 * when complete. Format: a line of JSON, then pieces of 64 KiB and a last, shorter one, each with its tag (see
 * README.md). No plaintext reaches the disk.
 */
export const writeEncrypted = async (path: string, passphrase: Secret<string>): Promise<SealedWriter> => {
  checkPassphrase(passphrase)
  const salt = randomBytes(16)
  const head = JSON.stringify({
    sidevault: 'tenant',
    format: 1,
    scrypt: SCRYPT,
    salt: salt.toString('base64'),
  })
  const key = await keyOf(passphrase, salt, head)
  const partial = `${path}.partial`
  const file: FileHandle = await open(partial, 'wx', 0o600).catch((thrown: unknown) => {
    throw partialIssue(partial, thrown)
  })
  await file.appendFile(`${head}\n`)
  let held: Buffer[] = []
  let size = 0
  let number = 0
  const seal = async (piece: Buffer, last: boolean): Promise<void> => {
    const cipher = createCipheriv('aes-256-gcm', key, nonceOf(number++, last))
    await file.appendFile(Buffer.concat([cipher.update(piece), cipher.final(), cipher.getAuthTag()]))
    piece.fill(0)
  }
  return {
    write: async (value) => {
      const line = Buffer.from(`${JSON.stringify(value)}\n`)
      held.push(line)
      size += line.length
      if (size <= PIECE) return
      const all = Buffer.concat(held)
      let at = 0
      for (; all.length - at > PIECE; at += PIECE) await seal(all.subarray(at, at + PIECE), false)
      held = [all.subarray(at)]
      size = all.length - at
    },
    finish: async () => {
      await seal(Buffer.concat(held), true)
      key.fill(0)
      await file.sync()
      await file.close()
      try {
        await publish(partial, path)
      } finally {
        await rm(partial, { force: true })
      }
    },
    abort: async () => {
      key.fill(0)
      await file.close()
      await rm(partial, { force: true })
    },
  }
}

const headIn = (path: string, bytes: Buffer): { readonly head: string; readonly salt: Buffer } => {
  const head = bytes.toString('utf8', 0, bytes.indexOf(0x0a))
  let parsed: { sidevault?: unknown; format?: unknown; salt?: unknown }
  try {
    parsed = JSON.parse(head)
  } catch {
    throw new AppError('invalid', `"${path}" is not an export of a tenant.`)
  }
  if (parsed.sidevault !== 'tenant') throw new AppError('invalid', `"${path}" is not an export of a tenant.`)
  if (parsed.format !== 1)
    throw new AppError('invalid', `"${path}" was created by a newer Sidevault. Import it with that version.`)
  return { head, salt: Buffer.from(String(parsed.salt), 'base64') }
}

/**
 * Values of such a file. Each piece is authenticated, but the file only at its end: values are invalid when this
 * rejects.
 */
export async function* readEncrypted(path: string, passphrase: Secret<string>): AsyncGenerator<unknown> {
  const file = await open(path, 'r').catch(() => {
    throw new AppError('invalid', `The file "${path}" cannot be read.`)
  })
  const start = Buffer.alloc(LONGEST_HEAD)
  const { bytesRead } = await file.read(start, 0, LONGEST_HEAD, 0)
  await file.close()
  const { head, salt } = headIn(path, start.subarray(0, bytesRead))
  const key = await keyOf(passphrase, salt, head)
  let number = 0
  let rest = Buffer.alloc(0)
  let line = Buffer.alloc(0)
  const opened = (piece: Buffer, last: boolean): Buffer => {
    if (piece.length < TAG) throw damaged(path)
    const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(number++, last), { authTagLength: TAG })
    decipher.setAuthTag(piece.subarray(-TAG))
    try {
      return Buffer.concat([decipher.update(piece.subarray(0, -TAG)), decipher.final()])
    } catch {
      throw damaged(path)
    }
  }
  const take = function* (plaintext: Buffer): Generator<unknown> {
    line = Buffer.concat([line, plaintext])
    let at = 0
    for (let end = line.indexOf(0x0a); end !== -1; end = line.indexOf(0x0a, at)) {
      yield parseJson(line.toString('utf8', at, end))
      at = end + 1
    }
    line = line.subarray(at)
  }
  for await (const chunk of createReadStream(path, { start: Buffer.byteLength(head) + 1 })) {
    rest = Buffer.concat([rest, chunk as Buffer])
    for (; rest.length > PIECE + TAG; rest = rest.subarray(PIECE + TAG))
      yield* take(opened(rest.subarray(0, PIECE + TAG), false))
  }
  yield* take(opened(rest, true))
  key.fill(0)
  if (line.length > 0) throw damaged(path)
}
