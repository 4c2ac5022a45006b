import { readFile } from 'node:fs/promises'
import { Gauge, type Registry } from 'prom-client'
import { describeCertificates } from '../common/certificates.ts'
import type { Clock } from '../common/clock.ts'
import type { Log } from '../common/log.ts'

/** How long before its end a certificate that was not renewed is somebody's business. */
const DUE_MS = 7 * 86_400_000

/** Watches the certificate that callers are shown, as its file has it. */
export interface EdgeCertificate {
  /** `degraded`, with a log line: it ends within seven days or has ended, or its file holds none any more. */
  health(): Promise<'ok' | 'degraded'>
  /** Goes on with another file. */
  take(path: string | undefined): void
}

export const watchEdgeCertificate = (
  path: string | undefined,
  { registry, log, clock }: { readonly registry: Registry; readonly log: Log; readonly clock: Clock },
): EdgeCertificate => {
  let file = path
  let due = false
  /** ms since the epoch; 0 where there is no certificate to read. */
  const ends = async (from: string): Promise<number> => {
    try {
      return describeCertificates(await readFile(from, 'utf8'))[0]?.expires ?? 0
    } catch {
      return 0
    }
  }
  new Gauge({
    name: 'sidevault_certificate_expiry_timestamp_seconds',
    help: 'Expiry of the certificate of the edge, in seconds since 1970; 0 when its file holds none.',
    aggregator: 'min',
    registers: [registry],
    async collect() {
      if (file === undefined) this.reset()
      else this.set((await ends(file)) / 1000)
    },
  })
  return {
    health: async () => {
      const from = file
      const at = from === undefined ? Number.POSITIVE_INFINITY : await ends(from)
      const soon = at - clock.now() < DUE_MS
      if (soon && !due)
        log.warn(
          { path: from, ends: new Date(at).toISOString() },
          'the certificate of the edge ends soon: put a new one into its file, which is then taken by itself',
        )
      due = soon
      return soon ? 'degraded' : 'ok'
    },
    take: (next) => {
      file = next
    },
  }
}
