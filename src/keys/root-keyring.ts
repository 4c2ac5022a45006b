import type { Secret } from '../common/secret.ts'
import type { KeyStore } from '../store/keys/types.ts'
import { type Roots, rootsFrom } from './root-key-rows.ts'
import { createWrapper } from './wrap.ts'

/** The root keys of a process. Another process may rotate them. */
export interface RootKeyring {
  readonly now: Roots
  /** Reads the service's rows again, and the root key from its source if the store uses an unknown one. */
  renew(): Promise<void>
}

/** `reload` loads the root key from its source again: a key file may have been replaced. */
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
