import { readFile } from 'node:fs/promises'
import { Gauge, type Registry } from '@prometheus-io/client'
import { describeCertificates } from '../common/certificates.ts'
import type { Clock } from '../common/clock.ts'
import type { Log } from '../common/log.ts'

const DAY_MS = 86_400_000

/** A certificate whose expiry is watched. */
interface WatchedCertificate {
  /** How long before its expiry it is reported, ms. */
  readonly dueMs: number
  /** Log line of that report, with its remedy. */
  readonly report: string
  /** ms since the epoch; 0 if it cannot be read, undefined without one. */
  expiry(): Promise<number | undefined>
}

/** The first certificate of the edge's file, which may change with the configuration. */
export const edgeCertificate = (file: () => string | undefined): WatchedCertificate => ({
  dueMs: 7 * DAY_MS,
  report: "the edge's certificate expires soon: replace its file, which is then loaded automatically",
  expiry: async () => {
    const path = file()
    if (path === undefined) return undefined
    try {
      return describeCertificates(await readFile(path, 'utf8'))[0]?.expires ?? 0
    } catch {
      return 0
    }
  },
})

/** The authority of the forward proxy. Programs need time to trust another one. */
export const forwardAuthority = (authority: { expiry(): Promise<number> }): WatchedCertificate => ({
  dueMs: 90 * DAY_MS,
  report:
    "the forward proxy's authority expires soon: run `sidevault ca rotate`, or replace the file of SIDEVAULT_FORWARD_CA, and give the new one to programs",
  expiry: () => authority.expiry(),
})

/**
 * A check for each certificate: `degraded`, with a log line, when it expires soon, has expired or cannot be read. The
 * metric has the expiry of each, by name.
 */
export const watchCertificates = <Name extends string>(
  certificates: Readonly<Partial<Record<Name, WatchedCertificate>>>,
  { registry, log, clock }: { readonly registry: Registry; readonly log: Log; readonly clock: Clock },
): Readonly<Record<Name, () => Promise<'ok' | 'degraded'>>> => {
  const entries = Object.entries(certificates as Readonly<Record<string, WatchedCertificate>>)
  new Gauge({
    name: 'sidevault_certificate_expiry_timestamp_seconds',
    help: 'Expiry of the certificate of the edge, or of the authority of the forward proxy, in seconds since 1970; 0 if it cannot be read.',
    labelNames: ['certificate'],
    aggregator: 'min',
    registers: [registry],
    async collect() {
      this.reset()
      for (const [name, { expiry }] of entries) {
        const at = await expiry()
        if (at !== undefined) this.set({ certificate: name }, at / 1000)
      }
    },
  })
  const checks = entries.map(([name, { dueMs, report, expiry }]) => {
    let due = false
    const check = async (): Promise<'ok' | 'degraded'> => {
      const at = (await expiry()) ?? Number.POSITIVE_INFINITY
      const soon = at - clock.now() < dueMs
      if (soon && !due) log.warn({ expires: new Date(at).toISOString() }, report)
      due = soon
      return soon ? 'degraded' : 'ok'
    }
    return [name, check]
  })
  return Object.fromEntries(checks)
}
