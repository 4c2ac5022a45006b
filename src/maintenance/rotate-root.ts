import { join } from 'node:path'
import type { Clock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import type { Secret } from '../common/secret.ts'
import { createSecretFile, replaceSecretFile } from '../common/secret-file.ts'
import type { Config } from '../config.ts'
import type { ProvidedKey } from '../keys/kms-root-key.ts'
import {
  beginRootChange,
  endRootChange,
  newRootKeyText,
  type RootChange,
  reverseRootChange,
  rewrapKeys,
  rootChangeIn,
  rootKeyId,
} from '../keys/root-key-rotation.ts'
import { WRAPPED_ROOT } from '../keys/root-key-rows.ts'
import { isProvided } from '../roles/root-key.ts'
import type { OperatedVault, Print } from './open-vault.ts'

interface RotateRootDeps {
  readonly vault: Pick<OperatedVault, 'store' | 'record'>
  /** The configured root key. */
  readonly load: () => Promise<Secret<Buffer>>
  /** Loads the new root key from a source; creates missing salts. */
  readonly next: (source: string) => Promise<ProvidedKey>
  readonly clock: Clock
  readonly print: Print
}

export interface RotateRootOptions {
  /** Source of the new root key; undefined: a new key replaces the key file. */
  readonly to: string | undefined
  /** Complete the rotation: every process has the new source. */
  readonly finish: boolean
  /** Go back to the configured root key, which is the old one. */
  readonly abort?: boolean
}

/** Path of the key file, when the configured source is a file. */
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
  await deps.vault.record('', 'service', 'root-key', `Root key rotation from ${old} to ${fresh} started`)
  await beginRootChange({ keys: deps.vault.store.keys }, { from, to, row, now: deps.clock.now() })
  return { from: old, to: fresh }
}

/** Removes root keys wrapped by a key management service, except the newest if the root key still uses the service. */
const removeWrapped = async ({ vault }: RotateRootDeps, provided: boolean): Promise<void> => {
  const rows = (await vault.store.keys.keys('')).filter(({ purpose }) => purpose === WRAPPED_ROOT)
  const newest = provided ? Math.max(...rows.map(({ version }) => version)) : undefined
  const past = rows.filter(({ version }) => version !== newest)
  if (past.length > 0) await vault.store.keys.remove(past)
}

const CHECK =
  'check   every process needs this root key before its next start: SIDEVAULT_ROOT_KEY, or the key file, on every machine'

/** For a new root key that was lost: wraps every key under the old one again. */
const abortRotation = async (
  deps: RotateRootDeps,
  { from, to }: RootChange,
  { configured, provided }: { readonly configured: Secret<Buffer>; readonly provided: boolean },
): Promise<void> => {
  const { keys } = deps.vault.store
  // The last step retains only the newest, which may be the one of the new source.
  const wrapped = (await keys.keys('')).filter(({ purpose }) => purpose === WRAPPED_ROOT)
  if (provided && wrapped.length > 1)
    throw reject('Key providers hold both root keys, so the rotation cannot be aborted. Complete it.')
  await deps.vault.record('', 'service', 'root-key', `Root key rotation from ${from} to ${to} aborted`)
  await reverseRootChange({ keys }, { known: configured })
  await rewrapAndEnd(deps, { from: to, to: from }, provided)
}

/** Repeats when a process that missed the rotation has added a key under the old root key. */
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
        `Root key rotation from ${change.from} to ${change.to} completed`,
      )
    if (await endRootChange({ keys: vault.store.keys }, change)) {
      await removeWrapped(deps, provided)
      print(`rotated the root key is ${change.to}; ${change.from} no longer opens this store`)
      return
    }
  }
  throw new AppError('conflict', 'Processes still add keys under the old root key. Retry.')
}

/**
 * Rotates the root key while the service runs. Until the end either root key opens the complete store, so the command
 * may be killed at any point and run again.
 *
 * A key file is replaced by one command, which retains the old file beside it. Other sources need two commands: one
 * that starts the rotation, and one with `finish` after the configuration of every process has the new source.
 */
export const rotateRoot = async (
  deps: RotateRootDeps,
  config: Config,
  { to, finish, abort }: RotateRootOptions,
): Promise<void> => {
  const { vault, load, print } = deps
  const configured = await load()
  const under = await changeNow(deps)
  const switched = under !== undefined && under.to === rootKeyId(configured)
  const file = to === undefined ? keyFileOf(config) : undefined
  const source = config.rootKeySource?.reveal()
  // No other machine has a copy of the key file, or every process already has the new source.
  const alone = file === undefined ? isProvided(to) && to === source : vault.store.engine === 'sqlite'
  if ((finish || abort) && under === undefined) throw reject('No root key rotation is in progress.')
  if (abort && under !== undefined) {
    if (switched) throw reject('This configuration already has the new root key. Run with --finish instead.')
    await abortRotation(deps, under, { configured, provided: isProvided(source) })
    return print(CHECK)
  }
  if (under !== undefined && (finish || (switched && alone))) {
    if (!switched)
      throw reject(
        'SIDEVAULT_ROOT_KEY still has the old root key. Set the new source for every process, then retry.',
      )
    await rewrapAndEnd(deps, under, isProvided(source))
    if (finish) print(CHECK)
    return
  }
  if (switched)
    throw reject(
      'A root key rotation is in progress, and this configuration already has the new key. When every process has it, run with --finish.',
    )
  if (to === undefined && file === undefined)
    throw reject(
      'The root key is not in a file. Name the new source: --to env:<NAME>, --to passphrase:env:<NAME>, --to file:<path>, --to transit:<address>.',
    )
  const next = file === undefined ? undefined : `${file}.next`
  if (next !== undefined) await createSecretFile(next, newRootKeyText())
  const fresh = await deps.next(next === undefined ? (to ?? '') : `file:${next}`)
  if (under !== undefined && under.to !== rootKeyId(fresh.key))
    throw reject(
      'A rotation to another root key is in progress. Run it with the same source, complete it with --finish, or go back with --abort.',
    )
  const change = under ?? (await begin(deps, configured, fresh))
  const count = await rewrapKeys({ keys: vault.store.keys }, { known: configured })
  print(`wrapped ${count} keys under the root key ${change.to}`)
  if (file !== undefined && next !== undefined) {
    const retained = `${file}.${change.from}`
    await replaceSecretFile(file, next, retained)
    print(`retained ${retained}: earlier backups need it. Move it away, or delete it with them.`)
  }
  if (alone) return rewrapAndEnd(deps, change, isProvided(source))
  print(
    `Both root keys open this store now. ${
      file === undefined
        ? 'Set SIDEVAULT_ROOT_KEY to the new source for every process and restart them'
        : `Copy "${file}" to every other machine`
    }, then run: sidevault keys rotate-root --finish`,
  )
}
