import { readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../common/errors.ts'
import { syncPath } from '../common/sync-path.ts'
import type { ChainPosition } from './chain-reader.ts'
import type { Mac } from './line.ts'
import { writeSynced } from './write-synced.ts'

/** Start of the retained part of a journal: after the files removed because the store has their records. */
export interface Checkpoint {
  /** Number of the last removed file. */
  readonly segment: number
  /** The last record in it. */
  readonly seq: number
  readonly hash: string
  /** Number of removed records that acknowledged a loss. */
  readonly losses: number
  /** ms: the first and the last removal. */
  readonly since: number
  readonly at: number
}

export const CHECKPOINT = '.checkpoint'

const TEXT = /^(\{.*),"mac":"([0-9a-f]{64})"\}\n$/

const macOf = (mac: Mac, name: string, body: string): string =>
  mac(`sidevault journal checkpoint ${name} ${body}`)

/** `corrupt`: the MAC of the file does not match. */
export const readCheckpoint = async (
  mac: Mac,
  directory: string,
  name: string,
): Promise<Checkpoint | 'corrupt' | undefined> => {
  let text: string
  try {
    text = await readFile(join(directory, name + CHECKPOINT), 'latin1')
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return undefined
    throw thrown
  }
  const [, body = '', claimed] = TEXT.exec(text) ?? []
  // Only the owner of the key can have written these bytes, so their form is valid.
  return macOf(mac, name, body) === claimed ? (JSON.parse(`${body}}`) as Checkpoint) : 'corrupt'
}

/** Replaces the previous checkpoint; on disk when this resolves. After a crash one of both is present. */
export const writeCheckpoint = async (
  mac: Mac,
  directory: string,
  name: string,
  { segment, seq, hash, losses, since, at }: Checkpoint,
): Promise<void> => {
  const body = JSON.stringify({ segment, seq, hash, losses, since, at }).slice(0, -1)
  const path = join(directory, name + CHECKPOINT)
  const fresh = `${path}.fresh`
  await writeSynced(fresh, Buffer.from(`${body},"mac":"${macOf(mac, name, body)}"}\n`))
  await rename(fresh, path)
  await syncPath(directory)
}

/** Start of reading after a checkpoint. */
export const positionAfter = ({ segment, seq, hash }: Checkpoint): ChainPosition => ({
  segment: segment + 1,
  offset: 0,
  line: 0,
  seq,
  hash,
})
