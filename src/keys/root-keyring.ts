import type { Secret } from '../common/secret.ts'
import type { KeyStore } from '../store/types.ts'
import { type Roots, rootsFrom } from './root-key-rows.ts'
import { createWrapper } from './wrap.ts'

/** The root keys of a process, which another process may change. */
export interface RootKeyring {
  readonly now: Roots
  /** Reads what the store says of them, and, when that is under a root key that nobody here knows, their source. */
  renew(): Promise<void>
}

/** `reload` answers the root key anew from where it came from; a key file may have been replaced meanwhile. */
export const createRootKeyring = (
  { keys }: { readonly keys: Pick<KeyStore, 'keys'> },
  { rootKey, reload }: { readonly rootKey: Secret<Buffer>; readonly reload?: () => Promise<Secret<Buffer>> },
): RootKeyring => {
  let known = [createWrapper(rootKey.reveal())]
  let roots = rootsFrom(known, [])
  let renewing: Promise<void> | undefined

  const renew = async (): Promise<void> => {
    const rows = await keys.keys('')
    const check = rows.find(({ purpose }) => purpose === 'check')
    roots = rootsFrom(known, rows)
    if (check !== undefined && !roots.knows(check) && reload !== undefined) {
      known = [...known, createWrapper((await reload()).reveal())]
      roots = rootsFrom(known, rows)
    }
    known = [roots.current]
  }

  return {
    get now() {
      return roots
    },
    renew: () => {
      renewing ??= renew().finally(() => {
        renewing = undefined
      })
      return renewing
    },
  }
}
