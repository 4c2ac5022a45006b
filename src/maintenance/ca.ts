import { systemClock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import type { Config } from '../config.ts'
import { readAuthority } from '../forward-proxy/file-authority.ts'
import { rotateAuthority } from '../forward-proxy/stored-authority.ts'
import { openAuthority } from '../roles/forward-authority.ts'
import { type Print, withVault } from './open-vault.ts'

/** `sidevault ca print`. Makes the first authority. */
export const printCa = async (config: Config, print: Print): Promise<void> => {
  const pem =
    config.forwardCa === undefined
      ? await withVault(config, (vault) => openAuthority(config, vault).caPem())
      : (await readAuthority(config.forwardCa, systemClock)).chain
  print(pem.trim())
}

/** `sidevault ca rotate`. */
export const rotateCa = async (config: Config, atOnce: boolean, print: Print): Promise<void> => {
  if (config.forwardCa !== undefined)
    throw new AppError(
      'invalid',
      `The authority is that of SIDEVAULT_FORWARD_CA ("${config.forwardCa}"). Replace the file and restart the service.`,
    )
  await withVault(config, async ({ keys, store, record }) => {
    await record(
      '',
      'service',
      'forward-ca',
      `Rotation of the certificate authority requested${atOnce ? ', at once' : ''}`,
    )
    const { signsFrom } = await rotateAuthority({ keys, store: store.keys, clock: systemClock }, atOnce)
    const at = new Date(signsFrom).toISOString()
    print(atOnce ? 'signs   from now on' : `signs   from ${at} on`)
    print(
      'trust   /ca.pem and "sidevault ca print" hold the old and the new one. Distribute them to all clients.',
    )
  })
}
