import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { browser } from '../kit/chromium.ts'
import { listenFor } from '../kit/listen.ts'
import { startOutside } from '../kit/outside.ts'
import { root } from '../kit/sources.ts'

const NUMBER = '4242424242424242'

const outside = await startOutside()
const { sidevault } = outside
const program = spawn(
  process.execPath,
  [join(root, 'examples/browser/server.ts'), sidevault.url, outside.url()],
  {
    env: { PATH: process.env.PATH, SIDEVAULT_BOOTSTRAP_KEY: sidevault.managementKey },
    stdio: ['ignore', 'pipe', 'inherit'],
  },
)
t.teardown(() => program.kill())
const [printed] = await once(program.stdout, 'data')
const shop = String(printed).trim()
const { publicKey } = (await (await fetch(`${shop}/settings`)).json()) as { publicKey: string }

/** A page of its own context, and all that it and its browser send to the vault. */
const open = async (t: Test, url: string) => {
  const context = await (await browser()).newContext()
  t.teardown(() => context.close())
  const page = await context.newPage()
  const cookies: string[] = []
  page.on('response', async (response) => {
    if ((await response.allHeaders())['set-cookie'] !== undefined) cookies.push(response.url())
  })
  await page.goto(url)
  return { page, cookies }
}

/** What a script of the page gets: status, code and headers; or `blocked` by the browser. */
const send = (
  page: Pick<Page, 'evaluate'>,
  key: string,
  method: string,
  path: string,
  body?: object,
  more = {},
) =>
  page.evaluate(
    async ({ url, method, headers, body, more }) => {
      try {
        const response = await fetch(url, { method, headers, body: body ?? null, ...more })
        const { code } = (await response.json()) as { code?: string }
        return { status: response.status, code, trace: response.headers.get('svc-trace-id') }
      } catch {
        return 'blocked'
      }
    },
    {
      url: sidevault.url + path,
      method,
      headers: { 'svc-api-key': key, ...(body ? { 'content-type': 'application/json' } : {}) },
      body: body && JSON.stringify(body),
      more,
    },
  )

const CARD = { type: 'card', data: { number: NUMBER, expiration_month: 12, expiration_year: 2030 } }

t.test(
  'a card goes from a page of another origin to the provider, and the page shows its mask',
  async (t) => {
    const { page, cookies } = await open(t, shop)
    await page.getByLabel('Card number').fill(NUMBER)
    await page.getByLabel('Month').fill('12')
    await page.getByLabel('Year').fill('2030')
    await page.getByRole('button', { name: 'Pay' }).click()
    await page.getByText('XXXXXXXXXXXX4242: paid').waitFor()
    const { path, body } = outside.destination.last()
    t.equal(path, '/v1/charges')
    t.same(JSON.parse(String(body)), { amount: 100, card: { number: NUMBER } })
    t.same(cookies, [])
  },
)

t.test('a page can read its errors, and cannot use a private key, another call or cookies', async (t) => {
  const { page } = await open(t, shop)
  t.match(await send(page, publicKey, 'POST', '/tokens', CARD), { status: 201, trace: String })
  t.match(await send(page, publicKey, 'POST', '/tokens', { type: 'card' }), {
    status: 400,
    code: 'invalid',
    trace: String,
  })
  const secret = await sidevault.application({ permissions: ['token:create'] })
  t.match(await send(page, secret, 'POST', '/tokens', CARD), { status: 403, code: 'origin_not_allowed' })
  for (const [method, path] of [
    ['DELETE', '/tokens/a'],
    ['GET', '/tokens'],
    ['GET', '/applications/key'],
    ['POST', '/sessions/authorize'],
    ['POST', '/proxy'],
  ] as const)
    t.equal(await send(page, publicKey, method, path), 'blocked', `${method} ${path}`)
  t.equal(await send(page, publicKey, 'POST', '/tokens', CARD, { credentials: 'include' }), 'blocked')
})

t.test('the edge passes each line with an origin on, so that two are none', async (t) => {
  const statusOf = async (...origins: readonly string[]) => {
    const lines = origins.flatMap((origin) => ['origin', origin])
    const headers = [...lines, 'host', 'a', 'svc-api-key', publicKey, 'content-type', 'application/json']
    const outgoing = request(`${sidevault.url}/tokens`, { method: 'POST', headers })
    outgoing.end(JSON.stringify(CARD))
    const [response] = await once(outgoing, 'response')
    response.resume()
    return response.statusCode
  }
  t.equal(await statusOf(shop), 201)
  t.equal(await statusOf(shop, 'https://evil.example'), 403)
  t.equal(await statusOf('https://evil.example', shop), 403)
})

t.test(
  'a page of an origin that no application allows, and one without an origin, are blocked',
  async (t) => {
    const server = createServer((_request, response) =>
      response.setHeader('content-type', 'text/html').end('a'),
    )
    const port = await listenFor(t, server)
    const { page } = await open(t, `http://127.0.0.1:${port}`)
    t.equal(await send(page, publicKey, 'POST', '/tokens', CARD), 'blocked')
    await page.setContent('<iframe sandbox="allow-scripts" srcdoc="a"></iframe>')
    const frame = page.frames().find((candidate) => candidate !== page.mainFrame())
    if (frame === undefined) throw new Error('the frame is missing')
    t.equal(await frame.evaluate('origin'), 'null')
    t.equal(await send(frame, publicKey, 'POST', '/tokens', CARD), 'blocked')
    const { json } = await sidevault.call('POST', '/applications', {
      key: sidevault.managementKey,
      body: { name: 'Anyone', type: 'public', permissions: ['token:create'], allowed_origins: ['*'] },
    })
    for (const each of [page, frame])
      t.match(await send(each, json.key, 'POST', '/tokens', CARD), { status: 201 }, 'where * is allowed')
    t.match(await send(page, publicKey, 'POST', '/tokens', CARD), {
      status: 403,
      code: 'origin_not_allowed',
    })
  },
)
