import type { RequestEntry } from '../../api/types.ts'

const nameOf = (party: RequestEntry['proxy'], what: string): string | undefined =>
  party && (party.name ?? `deleted ${what}`)

/** A call as a person says it: `Stripe charges → api.stripe.com`, `Checkout: GET /tokens/{id}`. */
export const sentenceOf = ({ kind, application, proxy, host, method, route }: RequestEntry): string => {
  const caller = nameOf(proxy, 'proxy') ?? nameOf(application, 'application') ?? 'anonymous'
  if (kind === 'api') return `${caller}: ${route.startsWith('/') ? `${method} ` : ''}${route}`
  const target = host ?? 'no destination'
  return `${caller} → ${kind === 'connect' ? `tunnel to ${target}` : target}`
}
