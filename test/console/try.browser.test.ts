import type { Locator } from 'playwright-core'
import t from 'tap'
import { expectAccessible } from '../kit/accessible.ts'
import { addKey, openConsole } from '../kit/browser.ts'
import { startOutside } from '../kit/outside.ts'
import { tracesOf } from '../kit/traces.ts'

const { sidevault, destination, url } = await startOutside()

const NUMBER = '4242424242424242'
const PERMISSIONS = ['token:create', 'token:read', 'token:search', 'token:use']
const createCard = async (key: string): Promise<string> => {
  const data = { number: NUMBER, expiration_month: 12, expiration_year: 2030 }
  return (await sidevault.call('POST', '/tokens', { key, body: { type: 'card', data } })).json.id
}

const setCaret = (field: Locator, at: number) =>
  field.evaluate(
    (area, at) =>
      (area as unknown as { setSelectionRange(from: number, to: number): void }).setSelectionRange(at, at),
    at,
  )

t.test('Try a call: dry-runs with a token, sends, and shows the response as text', async (t) => {
  const key = await sidevault.application({ permissions: PERMISSIONS })
  const token = await createCard(key)
  const code =
    "module.exports = async ({ args }) => { console.log('signed'); return { body: { ...args.body, signed: true }, headers: args.headers } }"
  const { json: proxy } = await sidevault.call('POST', '/proxies', {
    key: sidevault.managementKey,
    body: { name: 'Payments <b>', destination_url: url('/response'), request_transform: { code } },
  })
  const page = await openConsole(t, sidevault, { hash: '#/try' })
  await page.getByText('To send, add the key').waitFor()
  await addKey(page, key)
  await page.getByText('A dry run sends nothing').waitFor()
  destination.received.length = 0

  await t.test('a field reports what it lacks', async (t) => {
    await page.getByRole('button', { name: 'Dry run' }).click()
    await page.getByText('Name a destination').waitFor()
    t.equal(destination.received.length, 0)
  })

  await t.test('a token is inserted where an expression may stand', async (t) => {
    const body = page.getByLabel('Body', { exact: true })
    const dialog = page.getByRole('dialog', { name: 'Insert a token' })
    const insert = page.getByRole('button', { name: 'Insert a token …' })
    await page.getByLabel('Through').selectOption('Payments <b>')
    await body.fill('{"card": ""}')
    for (const [caret, reason] of [
      [12, 'Expressions stand inside a JSON string'],
      [3, 'Names are not evaluated'],
    ] as const) {
      await setCaret(body, caret)
      await insert.click()
      await page.getByText(reason).waitFor()
      t.equal(await dialog.count(), 0)
    }
    await setCaret(body, 10)
    await insert.click()
    await dialog.getByRole('radio').first().check()
    const part = dialog.getByLabel('Part')
    const member = dialog.getByRole('option', { includeHidden: true })
    await member.and(dialog.getByText('cvc')).waitFor({ state: 'attached' })
    t.same(await member.allTextContents(), ['number', 'expiration_month', 'expiration_year', 'cvc'])
    await expectAccessible(t, page)
    await part.fill('$.number')
    await dialog.getByRole('button', { name: 'Insert' }).click()
    t.equal(await body.inputValue(), `{"card": "{{ ${token} | json: '$.number' }}"}`)
    t.equal(await page.getByText('Names are not evaluated').count(), 0)
    t.notMatch(page.url(), new RegExp(proxy.key), 'no key is in the hash')
  })

  await t.test('a dry run draws the steps, and sends nothing', async (t) => {
    await page.getByRole('button', { name: 'Dry run' }).click()
    const steps = page.getByRole('list', { name: 'Steps of the call' })
    await steps.getByRole('heading', { name: /Authenticate passes/ }).waitFor()
    await steps
      .getByRole('row', { name: new RegExp(`${token} card reveal permission token:use body`) })
      .waitFor()
    await steps.getByRole('heading', { name: /Request transform passes/ }).waitFor()
    await steps.getByRole('row', { name: /"signed": true/ }).waitFor()
    await steps.getByText('log: signed').waitFor()
    await steps.getByText(`POST ${url()}`).waitFor()
    t.equal(destination.received.length, 0)
    t.notMatch((await page.locator('body').textContent()) ?? '', NUMBER)
  })

  await t.test('the result is beside the form; on a phone it is below, and gets the focus', async (t) => {
    const result = page.getByRole('region', { name: 'Result' })
    const button = page.getByRole('button', { name: 'Dry run' })
    const topOf = async (element: Locator) => (await element.boundingBox())?.y ?? Number.NaN
    t.ok((await topOf(result)) < (await topOf(button)), 'beside')
    await page.setViewportSize({ width: 390, height: 800 })
    await button.click()
    await result.and(page.locator(':focus')).waitFor()
    t.ok((await topOf(button)) < (await topOf(result)), 'below')
    t.ok((await topOf(result)) < 400, 'in view')
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  await t.test('changed code is dry-run before it is saved', async (t) => {
    await page.getByText('Code of the proxy').click()
    await page.getByLabel('Request transform').fill(code.replace('signed: true', "unsaved: '\u20ac'"))
    await page.getByText('changed, not saved').waitFor()
    await page.getByRole('button', { name: 'Dry run' }).click()
    const steps = page.getByRole('list', { name: 'Steps of the call' })
    await steps.getByRole('row', { name: /"unsaved": "\u20ac"/ }).waitFor()
    t.equal(destination.received.length, 0)
    await page.getByLabel('Request transform').fill(code)
    await page.getByText('changed, not saved').waitFor({ state: 'detached' })
  })

  await t.test('is accessible', (t) => expectAccessible(t, page))

  await t.test('a response is shown as text, whatever it contains', async (t) => {
    const evil = '<img src=x onerror=alert(1)><script>document.title = 1</script>'
    const reply = JSON.stringify({
      status: 307,
      headers: {
        'content-type': 'text/html',
        location: '/console/api/tenants/self',
        'set-cookie': 'a=b; Path=/',
      },
      body: evil,
    })
    await page.getByLabel('Headers').fill(`x-response: ${reply}`)
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('the destination sent 307').waitFor()
    t.equal(await page.getByLabel('Body of the response').textContent(), evil)
    t.equal(JSON.parse(String(destination.last().body)).card, NUMBER)
    t.equal(destination.received.length, 1)
    t.same(
      (await page.context().cookies()).map(({ name }) => name),
      [`sidevault-console-${sidevault.port}`],
    )
  })

  await t.test('a denied call is reported', async () => {
    await page
      .getByLabel('Body', { exact: true })
      .fill('{"card": "{{ 5b0c4d2a-1111-4111-8111-111111111111 }}"}')
    await page.getByRole('button', { name: 'Dry run' }).click()
    await page.getByRole('heading', { name: 'It would not be sent' }).waitFor()
    await page.getByText('no such token').waitFor()
  })

  await t.test(
    'the end of the session, in another tab too, takes the response out of the page',
    async (t) => {
      await page.getByLabel('Body', { exact: true }).fill(`{"card": "{{ ${token} | json: '$.number' }}"}`)
      await page.getByLabel('Headers').fill(`x-response: {"body":"${NUMBER}"}`)
      await page.getByRole('button', { name: 'Send' }).click()
      await page.getByText('the destination sent').waitFor()
      t.match(await page.getByLabel('Body of the response').textContent(), NUMBER)
      const other = await page.context().newPage()
      await other.goto('/console/#/settings')
      await other.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('heading', { name: 'Your session ended' }).waitFor()
      t.notMatch(await page.content(), NUMBER)
    },
  )
})

t.test('Try a call: a private key sees the path; a value that came back is hidden after 30 s', async (t) => {
  const key = await sidevault.application({ permissions: PERMISSIONS })
  const token = await createCard(key)
  const { json: proxy } = await sidevault.call('POST', '/proxies', {
    key: sidevault.managementKey,
    body: { name: 'Echo', destination_url: url('/secret-path'), evaluate: ['body', 'header:x-card'] },
  })
  const page = await openConsole(t, sidevault, { key, hash: '#/try', clock: true })
  await page.getByLabel('Proxy key').fill(proxy.key)
  await page.getByLabel('Path and query').fill('/charges?expand=all')
  await page.getByRole('button', { name: 'Dry run' }).click()
  await page.getByText(`POST ${url('/…/charges')}?expand=…`).waitFor()
  await page.getByText('… is the path of the proxy').waitFor()

  await page.getByLabel('Headers').fill(`x-card: {{ ${token} | json: '$.number' }}`)
  const body = page.getByLabel('Body of the response')
  const send = async () => {
    await page.getByRole('button', { name: 'Send' }).click()
    await body.getByText(NUMBER).waitFor()
  }
  await send()
  await page.getByRole('heading', { name: 'Response 200' }).waitFor()
  await page.getByText('Headers of the response').click()
  await page.getByText('x-from: destination').waitFor()
  await expectAccessible(t, page)
  await page.clock.runFor(20_000)
  await body.getByText(NUMBER).waitFor()
  await page.clock.runFor(11_000)
  await page.getByText('Body and headers are hidden.').waitFor()
  t.same(await tracesOf(page, NUMBER), [], 'after 30 s')

  await send()
  await page.getByRole('button', { name: 'Hide' }).click()
  t.same(await tracesOf(page, NUMBER), [], 'by a button')

  await send()
  await page.getByRole('link', { name: 'Tokens', exact: true }).click()
  await page.getByRole('table', { name: 'Tokens' }).waitFor()
  t.same(await tracesOf(page, NUMBER), [], 'the screen was left')
})
