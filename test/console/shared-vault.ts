import { type FilledVault, fillVault } from '../kit/demo-vault.ts'
import { startOutside } from '../kit/outside.ts'
import type { SharedSidevault } from '../kit/shared-sidevault.ts'

interface SharedVault {
  readonly sidevault: SharedSidevault
  readonly vault: FilledVault
}

/** A tenant of its own in the program that the tests of this process share. */
export const ownTenant = async (): Promise<SharedSidevault> => (await startOutside()).sidevault

const start = async (): Promise<SharedVault> => {
  const sidevault = await ownTenant()
  return { sidevault, vault: await fillVault(sidevault) }
}

let started: Promise<SharedVault> | undefined

/** A filled tenant for the tests of this process that only look at it. */
export const sharedVault = (): Promise<SharedVault> => {
  started ??= start()
  return started
}
