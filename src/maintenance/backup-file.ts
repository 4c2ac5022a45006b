import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { AppError } from '../common/errors.ts'
import { parseJson } from '../common/parse-json.ts'
import { syncPath } from '../common/sync-path.ts'
import { partialIssue, publish } from './atomic-rename.ts'

const NEWLINE = 0x0a

/** Member of the last line. A file without it, or with another digest, is damaged. */
interface Digest {
  /** SHA-256 of all lines before, hex. */
  readonly sha256: string
}

export interface LineWriter {
  /** Waits when the disk is slower. */
  write(value: unknown): Promise<void>
  /** Writes the last line, which `last` creates from the digest; on disk under its final name when resolved. */
  finish(last: (digest: Digest) => object): Promise<void>
  abort(): Promise<void>
}

export const damagedFile = (path: string): AppError =>
  new AppError('invalid', `"${path}" is damaged or truncated. Use another copy. Nothing was changed.`)

/** Writes a gzip file of JSON lines (0600), which appears under its name when complete. Never replaces a file. */
export const writeLines = (path: string): LineWriter => {
  const partial = `${path}.partial`
  const hash = createHash('sha256')
  const gzip = createGzip({ level: 3 })
  const file = createWriteStream(partial, { flags: 'wx', mode: 0o600 })
  let made = false
  file.once('open', () => {
    made = true
  })
  const closed = new Promise<void>((done) => file.once('close', done))
  const done = pipeline(gzip, file).catch((thrown: unknown) => {
    throw partialIssue(partial, thrown)
  })
  let failed: unknown
  done.catch((thrown: unknown) => {
    failed = thrown
  })
  const send = async (text: string): Promise<void> => {
    if (failed !== undefined) throw failed
    if (!gzip.write(text)) await Promise.race([once(gzip, 'drain'), done])
  }
  return {
    write: (value) => {
      const text = `${JSON.stringify(value)}\n`
      hash.update(text)
      return send(text)
    },
    finish: async (last) => {
      const digest = { sha256: hash.digest('hex') }
      await send(`${JSON.stringify({ ...last(digest), ...digest })}\n`)
      gzip.end()
      await done
      await syncPath(partial)
      await publish(partial, path)
      await rm(partial)
    },
    abort: async () => {
      gzip.destroy()
      await closed
      // An existing file belongs to another run.
      if (made) await rm(partial, { force: true })
    },
  }
}

/** Splits at 0x0a only: `readline` also splits at U+2028 and U+2029, which JSON does not escape. */
async function* cutLines(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = []
  for await (const chunk of source) {
    let at = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, at)) {
      yield Buffer.concat([...held, chunk.subarray(at, end)])
      held = []
      at = end + 1
    }
    held.push(chunk.subarray(at))
  }
  const rest = Buffer.concat(held)
  if (rest.length > 0) yield rest
}

/**
 * Lines of such a file, including the last one. Rejects with `invalid` when it is damaged: lines are only valid once
 * the end was reached.
 */
export async function* readLines(path: string): AsyncGenerator<unknown> {
  const hash = createHash('sha256')
  const gunzip = createGunzip()
  const source = createReadStream(path)
  source.on('error', (error) => gunzip.destroy(error))
  source.pipe(gunzip)
  let last: unknown
  try {
    for await (const line of cutLines(gunzip)) {
      if (last !== undefined) throw damagedFile(path)
      const value: unknown = parseJson(line.toString())
      if (typeof value === 'object' && value !== null && 'sha256' in value) {
        if (value.sha256 !== hash.digest('hex')) throw damagedFile(path)
        last = value
      } else hash.update(line).update('\n')
      yield value
    }
  } catch (thrown) {
    throw thrown instanceof AppError ? thrown : damagedFile(path)
  } finally {
    source.destroy()
    gunzip.destroy()
  }
  if (last === undefined) throw damagedFile(path)
}
