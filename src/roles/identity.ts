import { readFile } from 'node:fs/promises'
import type { Identity } from '../admin/server.ts'
import type { Log } from '../common/log.ts'
import type { Config } from '../config.ts'

/** The certificate of listeners besides the edge; undefined: they speak plain HTTP. */
export const readIdentity = async ({ tls }: Pick<Config, 'tls'>): Promise<Identity | undefined> =>
  tls && {
    certificate: await readFile(tls.certificate, 'utf8'),
    key: await readFile(tls.key, 'utf8'),
  }

/** Gives listeners the certificate that the files hold now. */
export const renewIdentity = async (
  { renew }: { readonly renew: (identity: Identity) => void },
  config: Pick<Config, 'tls'>,
  log: Log,
): Promise<void> => {
  try {
    const identity = await readIdentity(config)
    if (identity !== undefined) renew(identity)
  } catch (err) {
    // The files were valid a moment ago: they are being replaced, and the next change is applied.
    log.warn({ err }, 'the certificate was not reloaded; the listener uses the previous one')
  }
}
