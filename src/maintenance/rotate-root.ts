import { join } from 'node:path'
import type { Clock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import type { Secret } from '../common/secret.ts'
import type { Config } from '../config.ts'
import type { ProvidedKey } from '../keys/kms-root-key.ts'
import {
  beginRootChange,
  endRootChange,
  newRootKeyText,
  type RootChange,
  rewrapKeys,
  rootChangeIn,
  rootKeyId,
} from '../keys/root-key-rotation.ts'
import { WRAPPED_ROOT } from '../keys/root-key-rows.ts'
import { createSecretFile, replaceSecretFile } from '../keys/secret-file.ts'
import { isProvided } from '../roles/root-key.ts'
import type { OperatedVault, Print } from './open-vault.ts'

export interface RotateRootDeps {
  readonly vault: Pick<OperatedVault, 'store' | 'record'>
  /** The configured root key. */
  readonly load: () => Promise<Secret<Buffer>>
  /** The root key of a source that the store is to change to; salts are made where they are missing. */
  readonly next: (source: string) => Promise<ProvidedKey>
  readonly clock: Clock
  readonly print: Print
}

export interface RotateRootOptions {
  /** Where the new root key comes from; undefined: a new key in the place of the key file. */
  readonly to: string | undefined
  /** Every process has the new source: end the change. */
  readonly finish: boolean
}

/** The key file, when the configured source is one. */
const keyFileOf = ({ rootKeySource, dataDir }: Config): string | undefined => {
  const source = rootKeySource?.reveal() ?? ''
  if (source === '') return join(dataDir, 'root.key')
  return source.startsWith('file:') ? source.slice('file:'.length) : undefined
}

const reject = (sentence: string): AppError => new AppError('invalid', sentence)

const changeNow = async ({ vault }: RotateRootDeps): Promise<RootChange | undefined> =>
  rootChangeIn(await vault.store.keys.keys(''))

const begin = async (
  deps: RotateRootDeps,
  from: Secret<Buffer>,
  { key: to, row }: ProvidedKey,
): Promise<RootChange> => {
  const [old, fresh] = [rootKeyId(from), rootKeyId(to)]
  await deps.vault.record('', 'service', 'root-key', `Root key change from ${old} to ${fresh} begun`)
  await beginRootChange({ keys: deps.vault.store.keys }, { from, to, row, now: deps.clock.now() })
  return { from: old, to: fresh }
}

/** What a key management service wrapped before is of no use any more; nor the last, when the root key is not under one now. */
const forgetWrapped = async ({ vault }: RotateRootDeps, provided: boolean): Promise<void> => {
  const rows = (await vault.store.keys.keys('')).filter(({ purpose }) => purpose === WRAPPED_ROOT)
  const newest = provided ? Math.max(...rows.map(({ version }) => version)) : undefined
  const past = rows.filter(({ version }) => version !== newest)
  if (past.length > 0) await vault.store.keys.remove(past)
}

/** A process that had not heard of the change may make a key under the old root key meanwhile: then once more. */
const rewrapAndEnd = async (deps: RotateRootDeps, change: RootChange, provided: boolean): Promise<void> => {
  const { vault, load, print } = deps
  const known = await load()
  for (let attempt = 0; attempt < 5; attempt++) {
    await rewrapKeys({ keys: vault.store.keys }, { known })
    if (attempt === 0)
      await vault.record(
        '',
        'service',
        'root-key',
        `Root key change from ${change.from} to ${change.to} ended`,
      )
    if (await endRootChange({ keys: vault.store.keys }, change)) {
      await forgetWrapped(deps, provided)
      print(`changed The root key is ${change.to}. ${change.from} opens nothing of this store any more.`)
      return
    }
  }
  throw new AppError('conflict', 'Keys under the old root key still arrive. Run the command again.')
}

/**
 * Changes the root key while the service runs. From the first step to the last either root key opens the whole store,
 * so it may be killed at any point and run again.
 *
 * A key file is replaced and the old one kept beside it: one command. Any other source takes two: one that begins, then,
 * when the configuration of every process names the new source, one with `finish`.
 */
export const rotateRoot = async (
  deps: RotateRootDeps,
  config: Config,
  { to, finish }: RotateRootOptions,
): Promise<void> => {
  const { vault, load, print } = deps
  const configured = await load()
  const under = await changeNow(deps)
  const switched = under !== undefined && under.to === rootKeyId(configured)
  const file = to === undefined ? keyFileOf(config) : undefined
  const source = config.rootKeySource?.reveal()
  // Nobody else has a copy of the key file, or every process has the new key's source already.
  const alone = file === undefined ? isProvided(to) && to === source : vault.store.engine === 'sqlite'
  if (finish || (switched && alone)) {
    if (under === undefined) throw reject('No change of the root key is under way.')
    if (!switched)
      throw reject(
        'SIDEVAULT_ROOT_KEY still names the old root key. Set it to the new source for every process first, then repeat this.',
      )
    return rewrapAndEnd(deps, under, isProvided(source))
  }
  if (switched)
    throw reject(
      'A change of the root key is under way, and this configuration names the new one already. When every process has it, end the change with --finish.',
    )
  if (to === undefined && file === undefined)
    throw reject(
      'The root key does not come from a file. Name where the new one comes from: --to env:<NAME>, --to passphrase:env:<NAME>, --to file:<path>, --to transit:<address>.',
    )
  const next = file === undefined ? undefined : `${file}.next`
  if (next !== undefined) await createSecretFile(next, newRootKeyText())
  const fresh = await deps.next(next === undefined ? (to ?? '') : `file:${next}`)
  if (under !== undefined && under.to !== rootKeyId(fresh.key))
    throw reject(
      'A change to another root key has begun. Repeat it with the source it was begun with, or end it with --finish.',
    )
  const change = under ?? (await begin(deps, configured, fresh))
  const count = await rewrapKeys({ keys: vault.store.keys }, { known: configured })
  print(`wrapped ${count} keys under the root key ${change.to}`)
  if (file !== undefined && next !== undefined) {
    const retained = `${file}.${change.from}`
    await replaceSecretFile(file, next, retained)
    print(`kept    ${retained}: backups made before now need it. Move it away, or delete it with them.`)
  }
  if (alone) return rewrapAndEnd(deps, change, isProvided(source))
  print(
    `Both root keys open this store now. ${
      file === undefined
        ? 'Set SIDEVAULT_ROOT_KEY to the new source for every process and restart them when it suits you'
        : `Put a copy of "${file}" in its place on every other machine`
    }, then run: sidevault keys rotate-root --finish`,
  )
}
