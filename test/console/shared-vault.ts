import { type FilledVault, fillVault } from '../kit/demo-vault.ts'
import { type SharedSidevault, sharedSidevault } from '../kit/shared-sidevault.ts'

interface SharedVault {
  readonly sidevault: SharedSidevault
  readonly vault: FilledVault
}

const start = async (): Promise<SharedVault> => {
  const sidevault = await sharedSidevault()
  return { sidevault, vault: await fillVault(sidevault) }
}

let started: Promise<SharedVault> | undefined

/** A filled tenant for the tests of this process that only look at it. */
export const sharedVault = (): Promise<SharedVault> => {
  started ??= start()
  return started
}
