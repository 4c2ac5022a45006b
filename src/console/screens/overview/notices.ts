import { type NodeCertificate, nodeCertificates } from '../../api/certificates.ts'
import type { Health } from '../../api/health.ts'
import type { Metrics } from '../../api/metrics.ts'
import type { RequestEntry } from '../../api/types.ts'
import { bytes, count, decimal } from '../../kit/numbers.ts'
import { chainOf } from '../audit/chain.ts'
import { requestsHash } from '../requests/filters.ts'
import { outcomeOf } from '../requests/outcome.ts'

const DAY_MS = 86_400_000
const GIB = 1024 ** 3

/** Limits of figures beyond which a notice is shown. */
const LIMITS = { certificateDays: 21, backlogSeconds: 60, freeBytes: GIB } as const

export interface Notice {
  readonly kind: 'bad' | 'warn'
  readonly text: string
  /** Since, ISO 8601, or the time that it is about in ms. */
  readonly at?: string | number
  readonly href: string
}

const docs = (anchor = ''): string => `/docs/operations${anchor}`

const ofComponents = ({ components }: Health): readonly Notice[] =>
  components
    .filter(({ status }) => status !== 'ok')
    .map(({ name, status, since, missing = [], detail }) => ({
      kind: status === 'failed' ? 'bad' : 'warn',
      text:
        detail === undefined
          ? `Component ${name} is ${status}${missing.length > 0 ? `: without ${missing.join(', ')}` : ''}.`
          : `Component ${name} is ${status}: ${detail}`,
      ...(since === undefined ? {} : { at: since }),
      href: docs(),
    }))

const ofCertificate = ({ name, ends }: NodeCertificate, now: number): readonly Notice[] => {
  if (ends === undefined)
    return [{ kind: 'bad', text: `The certificate “${name}” cannot be read.`, href: docs() }]
  if (ends - now > LIMITS.certificateDays * DAY_MS) return []
  const isOver = ends <= now
  return [
    {
      kind: isOver || ends - now < 7 * DAY_MS ? 'bad' : 'warn',
      text: isOver ? `The certificate “${name}” has ended.` : `The certificate “${name}” ends soon.`,
      at: ends,
      href: docs(),
    },
  ]
}

/** ms of the calls that a notice is about. */
const RECENT_MS = 5 * 60_000

/** A notice when proxied calls fail, denials apart: those are their callers' concern. */
export const failureNotices = (entries: readonly RequestEntry[], now: number): readonly Notice[] => {
  const recent = entries.filter(({ kind, at }) => kind === 'proxy' && Date.parse(at) > now - RECENT_MS)
  const failed = recent.filter((call) => call.failed && outcomeOf(call) !== 'rejected').length
  if (failed === 0) return []
  return [
    {
      kind: failed * 2 > recent.length ? 'bad' : 'warn',
      text: `${count(failed)} of ${count(recent.length)} proxied calls of the last 5 minutes failed.`,
      href: requestsHash({ kind: 'proxy', outcome: 'failed' }),
    },
  ]
}

/** Conditions that need an operator, errors before warnings. */
export const noticesOf = (health: Health, metrics: Metrics, now: number): readonly Notice[] => {
  const sum = (name: string) => metrics.sum(name)
  const { brokenJournals: broken, backlog = 0 } = chainOf(metrics, health)
  const free = sum('data_disk_free_bytes')
  const rejected = sum('records_rejected_total') ?? 0
  const down = metrics.of('process_up').filter(({ value }) => value === 0)
  const all: readonly (Notice | false)[] = [
    broken > 0 && {
      kind: 'bad',
      text: `The audit chain is broken: ${count(broken)} ${broken === 1 ? 'journal' : 'journals'}.`,
      href: '#/audit',
    },
    rejected > 0 && {
      kind: 'bad',
      text: `${count(rejected)} stored records were changed outside the service, and are rejected.`,
      href: docs(),
    },
    ...down.map(
      ({ labels }): Notice => ({
        kind: 'bad',
        text: `Process ${labels.process} does not respond.`,
        href: docs(),
      }),
    ),
    ...nodeCertificates(metrics).flatMap((certificate) => ofCertificate(certificate, now)),
    backlog > LIMITS.backlogSeconds && {
      kind: 'warn',
      text: `Audit records have waited ${decimal(backlog)} s to be stored.`,
      href: '#/audit',
    },
    free !== undefined &&
      free < LIMITS.freeBytes && {
        kind: 'warn',
        text: `The disk of the data directory has ${bytes(free)} free.`,
        href: docs(),
      },
    sum('redis_up') === 0 && {
      kind: 'warn',
      text: 'Redis does not respond: each process counts rate limits by itself.',
      href: docs(),
    },
    ...ofComponents(health),
  ]
  const notices = all.filter((notice) => notice !== false)
  return [...notices.filter(({ kind }) => kind === 'bad'), ...notices.filter(({ kind }) => kind === 'warn')]
}
