import type { Response, Sidevault } from './sidevault.ts'

/** Texts of a vault that people choose freely. */
export interface VaultTexts {
  readonly tenant: string
  /** Names of applications, proxies, formulas and reactors; used in turn. */
  readonly names: readonly string[]
  readonly descriptions: readonly string[]
  /** Values of metadata, in turn. */
  readonly values: readonly string[]
}

/** Ids of what the vault holds, by the first part of the console's paths; and a key that reads and uses all tokens. */
export interface FilledVault {
  readonly ids: Readonly<
    Record<'requests' | 'tokens' | 'applications' | 'proxies' | 'formulas' | 'reactors' | 'webhooks', string>
  >
  readonly privateKey: string
}

/** A shop that takes cards. All of it is made up; the card numbers are the public ones of card networks' tests. */
const SHOP: VaultTexts = {
  tenant: 'Northwind Outfitters',
  names: [
    'Checkout',
    'Back office',
    'Storefront',
    'Finance reports',
    'Card processor',
    'Payout bank',
    'Fraud score',
    'Receipts',
  ],
  descriptions: [
    'Support sees the last four digits',
    'Cards of high value stay hidden',
    'Passports are checked by hand',
    'Amounts above the limit score higher',
  ],
  values: ['ada.example', 'grace.example', 'linus.example', 'margaret.example', 'edsger.example'],
}

const CARDS = [
  '4242424242424242',
  '5555555555554444',
  '378282246310005',
  '6011111111111117',
  '3566002020360505',
]

const DEMO = 'https://demo.sidevault.test'

const TRANSFORM = `module.exports = async ({ args }) => ({
  headers: args.headers,
  body: { ...args.body, currency: 'EUR' },
})`

const FORMULA = `module.exports = async ({ args, configuration }) => ({
  raw: { score: args.amount > configuration.limit ? 80 : 12 },
})`

const at = <T>(list: readonly T[], index: number): T => {
  const item = list[index % list.length]
  if (item === undefined) throw new Error('an empty list')
  return item
}

/**
 * Fills a vault through its API: applications with rules, tokens, proxies, a formula, a reactor, an invitation, and
 * calls of all of them, some of which fail.
 */
export const fillVault = async (
  { call, managementKey }: Pick<Sidevault, 'call' | 'managementKey'>,
  texts: VaultTexts = SHOP,
): Promise<FilledVault> => {
  const create = async (path: string, body: unknown, key = managementKey): Promise<Response['json']> => {
    const response = await call('POST', path, { key, body })
    if (response.status >= 300) throw new Error(`cannot fill the vault: POST ${path}: ${response.text}`)
    return response.json
  }
  let used = 0
  const name = () => at(texts.names, used++)
  const rule = (container: string, transform: string, permissions: readonly string[], priority: number) => ({
    description: at(texts.descriptions, priority - 1),
    priority,
    container,
    transform,
    permissions,
  })

  await call('PUT', '/tenants/self', { key: managementKey, body: { name: texts.tenant } })
  const all = ['create', 'read', 'update', 'delete', 'use', 'search'].map((verb) => `token:${verb}`)
  const checkout = await create('/applications', { name: name(), type: 'private', permissions: all })
  const office = await create('/applications', {
    name: name(),
    type: 'private',
    rules: [
      rule('/pci/', 'mask', ['token:read', 'token:search'], 1),
      rule('/pci/high/', 'redact', ['token:read'], 2),
      rule('/people/', 'reveal', ['token:read', 'token:search'], 3),
    ],
  })
  await create('/applications', { name: name(), type: 'public', permissions: ['token:create'] })
  const reports = await create('/applications', {
    name: name(),
    type: 'private',
    rules: [rule('/', 'redact', ['token:read'], 1)],
  })

  const tokens: string[] = []
  for (let order = 0; order < 12; order++) {
    const metadata = { customer: at(texts.values, order), order: String(1_040 + order) }
    const body =
      order % 4 === 3
        ? { type: 'token', data: `passport-${order}`, containers: ['/people/'], metadata }
        : {
            type: 'card',
            data: {
              number: at(CARDS, order),
              expiration_month: 1 + order,
              expiration_year: 2031,
              cvc: '123',
            },
            containers: [order % 3 === 0 ? '/pci/high/' : '/pci/'],
            metadata,
            search_indexes: ['{{ data.number }}'],
            ...(order === 0 ? { fingerprint_expression: '{{ data.number }}' } : {}),
          }
    tokens.push((await create('/tokens', body, checkout.key)).id)
  }
  const [token = '', child = ''] = tokens
  await create(`/tokens/${token}/children/${child}`, undefined, checkout.key)

  const proxy = await create('/proxies', {
    name: name(),
    destination_url: `${DEMO}/pay`,
    request_transform: { code: TRANSFORM },
    application: { id: checkout.id },
    require_auth: true,
  })
  await call('PATCH', `/proxies/${proxy.id}`, {
    key: managementKey,
    body: { request_transform: { code: TRANSFORM.replace('EUR', 'USD') } },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  await create('/proxies', { name: name(), destination_url: `${DEMO}/payouts`, require_auth: true })
  const formula = await create('/reactor-formulas', {
    name: name(),
    description: at(texts.descriptions, 3),
    type: 'private',
    code: FORMULA,
    configuration: [{ name: 'limit', description: at(texts.descriptions, 3), type: 'number' }],
    request_parameters: [{ name: 'amount', description: at(texts.descriptions, 3), type: 'number' }],
  })
  const reactor = await create('/reactors', {
    name: name(),
    formula: { id: formula.id },
    configuration: { limit: '100' },
    application: { id: checkout.id },
  })
  const webhook = await create('/webhooks', {
    name: name(),
    url: 'https://hooks.invalid/sidevault',
    events: ['token.created', 'webhook.disabled'],
    status: 'disabled',
  })
  await call('POST', `/webhooks/${webhook.id}/ping`, { key: managementKey })
  await create('/tenants/self/invitations', { email: 'ada@example.com' })

  // Calls for Requests, Overview and Audit; their responses do not matter.
  const pay = (key: string, body: unknown, headers: Record<string, string>) =>
    call('POST', '/proxy', { key, body, headers })
  const card = (id: string) => ({ card: `{{ ${id} | json: '$.number' }}`, amount: 4_200 })
  const direct = { 'svc-proxy-url': `${DEMO}/pay` }
  for (const id of tokens.slice(0, 3)) await pay(checkout.key, card(id), { 'svc-proxy-key': proxy.key })
  await pay(checkout.key, card(token), direct)
  await pay(office.key, card(token), direct)
  await pay(checkout.key, card('00000000-0000-4000-8000-000000000000'), direct)
  for (const id of tokens.slice(0, 4)) await call('GET', `/tokens/${id}`, { key: office.key })
  await call('GET', `/tokens/${token}`, { key: reports.key })
  await call('POST', `/reactors/${reactor.id}/react`, { key: checkout.key, body: { args: { amount: 120 } } })

  const { json: newest } = await call('GET', '/requests?size=100', { key: managementKey })
  const calls: readonly { readonly id: string; readonly kind: string; readonly tokens: number }[] =
    newest.data

  return {
    ids: {
      requests: calls.find(({ kind, tokens: count }) => kind === 'proxy' && count > 0)?.id ?? '',
      tokens: token,
      applications: office.id,
      proxies: proxy.id,
      formulas: formula.id,
      reactors: reactor.id,
      webhooks: webhook.id,
    },
    privateKey: checkout.key,
  }
}
