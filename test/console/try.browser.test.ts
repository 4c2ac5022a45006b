import t from 'tap'
import { expectAccessible } from '../kit/accessible.ts'
import { addKey, openConsole } from '../kit/browser.ts'
import { startOutside } from '../kit/outside.ts'

const { sidevault, destination, url } = await startOutside()

t.test('Try a call: dry-runs with a token, sends, and shows the response as text', async (t) => {
  const key = await sidevault.application({
    permissions: ['token:create', 'token:read', 'token:search', 'token:use'],
  })
  const NUMBER = '4242424242424242'
  const card = { type: 'card', data: { number: NUMBER, expiration_month: 12, expiration_year: 2030 } }
  const { json: token } = await sidevault.call('POST', '/tokens', { key, body: card })
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

  await t.test('a token is picked into the body', async (t) => {
    await page.getByLabel('Through').selectOption('Payments <b>')
    await page.getByLabel('Body', { exact: true }).fill('{"card": ""}')
    await page
      .getByLabel('Body', { exact: true })
      .evaluate((area) =>
        (area as unknown as { setSelectionRange(a: number, b: number): void }).setSelectionRange(10, 10),
      )
    await page.getByRole('button', { name: 'Insert a token …' }).click()
    const dialog = page.getByRole('dialog', { name: 'Insert a token' })
    await dialog.getByRole('radio').first().check()
    await dialog.getByLabel('Part (JSONPath)').fill('$.number')
    await dialog.getByRole('button', { name: 'Insert' }).click()
    t.equal(
      await page.getByLabel('Body', { exact: true }).inputValue(),
      `{"card": "{{ ${token.id} | json: '$.number' }}"}`,
    )
    t.notMatch(page.url(), new RegExp(proxy.key), 'no key is in the hash')
  })

  await t.test('a dry run draws the steps, and sends nothing', async (t) => {
    await page.getByRole('button', { name: 'Dry run' }).click()
    const steps = page.getByRole('list', { name: 'Steps of the call' })
    await steps.getByRole('heading', { name: /Authenticate passes/ }).waitFor()
    await steps
      .getByRole('row', { name: new RegExp(`${token.id} card reveal permission token:use body`) })
      .waitFor()
    await steps.getByRole('heading', { name: /Request transform passes/ }).waitFor()
    await steps.getByRole('row', { name: /"signed": true/ }).waitFor()
    await steps.getByText('log: signed').waitFor()
    await steps.getByText(`POST ${url()}`).waitFor()
    t.equal(destination.received.length, 0)
    t.notMatch((await page.locator('body').textContent()) ?? '', NUMBER)
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
      await page.getByLabel('Body', { exact: true }).fill(`{"card": "{{ ${token.id} | json: '$.number' }}"}`)
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
