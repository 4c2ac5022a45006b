import { readFile } from 'node:fs/promises'
import { Gauge, type Registry } from 'prom-client'
import { describeCertificates } from '../common/certificates.ts'
import type { Clock } from '../common/clock.ts'
import type { Log } from '../common/log.ts'

/** How long before its expiry a certificate is reported, ms. */
const DUE_MS = 7 * 86_400_000

/** Watches the expiry of the edge's certificate file. */
export interface EdgeCertificate {
  /** `degraded`, with a log line: the certificate expires within seven days or has expired, or its file has none. */
  health(): Promise<'ok' | 'degraded'>
  /** Watches another file from now on. */
  reload(path: string | undefined): void
}

export const watchEdgeCertificate = (
  path: string | undefined,
  { registry, log, clock }: { readonly registry: Registry; readonly log: Log; readonly clock: Clock },
): EdgeCertificate => {
  let file = path
  let due = false
  /** ms since the epoch; 0 if the file has no certificate. */
  const expiryOf = async (from: string): Promise<number> => {
    try {
      return describeCertificates(await readFile(from, 'utf8'))[0]?.expires ?? 0
    } catch {
      return 0
    }
  }
  new Gauge({
    name: 'sidevault_certificate_expiry_timestamp_seconds',
    help: "Expiry of the edge's certificate, in seconds since 1970; 0 if its file has none.",
    aggregator: 'min',
    registers: [registry],
    async collect() {
      if (file === undefined) this.reset()
      else this.set((await expiryOf(file)) / 1000)
    },
  })
  return {
    health: async () => {
      const from = file
      const at = from === undefined ? Number.POSITIVE_INFINITY : await expiryOf(from)
      const soon = at - clock.now() < DUE_MS
      if (soon && !due)
        log.warn(
          { path: from, expires: new Date(at).toISOString() },
          "the edge's certificate expires soon: replace its file, which is then loaded automatically",
        )
      due = soon
      return soon ? 'degraded' : 'ok'
    },
    reload: (next) => {
      file = next
    },
  }
}
