import type { CDPSession, Page } from 'playwright-core'
import t from 'tap'
import { expectAccessible, expectOperable } from '../kit/accessible.ts'
import { addKey, openConsole } from '../kit/browser.ts'
import { tracesOf } from '../kit/traces.ts'
import { until } from '../kit/until.ts'
import { ownTenant } from './shared-vault.ts'

const PAN = '4539578763621486'
const OTHER_PAN = '4111111111111111'
const EVERY = ['create', 'read', 'search', 'update', 'delete', 'use'].map((verb) => `token:${verb}`)
const reveal = {
  description: 'disputes',
  priority: 1,
  container: '/pci/',
  transform: 'reveal',
  permissions: ['token:read'],
}

const sidevault = await ownTenant()
const key = await sidevault.application({ permissions: EVERY, rules: [reveal] })
const create = async (body: object): Promise<string> =>
  (await sidevault.call('POST', '/tokens', { key, body })).json.id
const cardOf = (number: string, more: object = {}) =>
  create({
    type: 'card',
    data: { number, expiration_month: 12, expiration_year: 2031 },
    containers: ['/pci/high/'],
    ...more,
  })

/** Strings in the memory of the page's program that hold a text, after a collection of garbage. */
const heapHolds = async (page: Page, text: string): Promise<boolean> => {
  const session: CDPSession = await page.context().newCDPSession(page)
  let snapshot = ''
  session.on('HeapProfiler.addHeapSnapshotChunk', ({ chunk }) => {
    snapshot += chunk
  })
  await session.send('HeapProfiler.collectGarbage')
  await session.send('HeapProfiler.takeHeapSnapshot')
  await session.detach()
  return snapshot.includes(text)
}

t.test('Tokens: finds tokens, shows who can see one, reveals it, and deletes it', async (t) => {
  const id = await cardOf(PAN, { metadata: { order: '7 b' } })
  await create({ id: 'customer-42-email', data: 'ada@example.com', metadata: { order: '8' } })
  const page = await openConsole(t, sidevault, { hash: '#/tokens', clock: true })

  await page.getByLabel('Token id').fill(OTHER_PAN)
  await page.getByRole('button', { name: 'Open', exact: true }).click()
  await page.getByText('A management key does not read tokens.').waitFor()
  await expectAccessible(t, page)
  t.notMatch(page.url(), OTHER_PAN)
  t.notMatch(await page.title(), OTHER_PAN)
  await page.getByRole('button', { name: 'Open another' }).click()
  await page.getByLabel('Token id').waitFor()
  await addKey(page, key)

  await page.getByRole('table', { name: 'Tokens' }).getByText('customer-42-email').waitFor()
  const box = page.getByRole('combobox', { name: 'Search' })
  await box.fill(`id:${OTHER_PAN}`)
  await box.press('Enter')
  await page.getByText('No token that this key may see matches.').waitFor()
  t.notMatch(page.url(), OTHER_PAN)
  await box.fill('type:card)')
  await box.press('Enter')
  await page.getByRole('alert').getByText('A parenthesis is closed that was not opened').waitFor()
  await box.fill('metadata.o')
  await box.press('ArrowDown')
  await page.getByRole('option', { name: 'metadata.order:', selected: true }).waitFor()
  await expectAccessible(t, page)
  await box.press('Enter')
  await box.pressSequentially('"7 b"')
  await box.press('Enter')
  await page.getByText('1 shown').waitFor()
  t.match(decodeURIComponent(page.url()), /#\/tokens\?q=metadata\.order:"7\+b"$/)
  t.equal(await page.getByRole('row').count(), 2)

  await page.getByRole('link', { name: id }).click()
  await page.getByRole('heading', { name: id }).waitFor()
  await page.getByLabel('Masked data').getByText('XXXXXXXXXXXX1486').waitFor()
  await page
    .getByRole('table', { name: 'See the value' })
    .getByRole('row', { name: /read rule 1 “disputes”: reveal/ })
    .waitFor()
  await page.getByRole('table', { name: 'History' }).getByText('Card created').waitFor()
  t.notOk(await heapHolds(page, PAN), 'nothing is revealed before it is asked for')

  const revealIt = async () => {
    await page.getByRole('button', { name: 'Reveal …' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Reveal' }).click()
    await page.getByLabel('Value', { exact: true }).getByText(PAN).waitFor()
  }
  await revealIt()
  await expectOperable(t, page)
  t.ok(await heapHolds(page, PAN), 'the search of the memory finds it while it is shown')
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  // The console's policy forbids it to read the clipboard.
  const reader = await page.context().newPage()
  await reader.goto('/readyz')
  const clipboard = () => reader.evaluate(() => navigator.clipboard.readText())
  // The page does not wait for the browser's clipboard after a click or a timer.
  const expectClipboard = (text: string, why: string) => until(why, async () => (await clipboard()) === text)
  const copyIt = async () => {
    await page.getByRole('button', { name: 'Copy', exact: true }).click()
    await page.getByText('This page clears the clipboard in 30 seconds.').last().waitFor()
    t.match(await clipboard(), PAN)
  }
  await copyIt()
  await page.getByRole('button', { name: 'Hide' }).click()
  t.equal(await page.getByText(PAN).count(), 0)
  await page.clock.runFor(25_000)
  t.match(await clipboard(), PAN)
  await page.clock.runFor(6_000)
  await expectClipboard('', 'it is cleared')

  await revealIt()
  await copyIt()
  const nameOfWrite = 'navigator.clipboard.writeText'
  await page.evaluate(
    `${nameOfWrite} = () => Promise.reject(new DOMException('no focus', 'NotAllowedError'))`,
  )
  await page.clock.runFor(31_000)
  t.match(await clipboard(), PAN, 'the browser denied it')
  await page.evaluate(`delete ${nameOfWrite}; dispatchEvent(new Event('focus'))`)
  await expectClipboard('', 'it is cleared with the next focus')

  await revealIt()
  await copyIt()
  await page.getByRole('button', { name: 'Copy id' }).click()
  await expectClipboard(id, 'the id is copied')
  await page.clock.runFor(31_000)
  t.equal(await clipboard(), id, 'what was copied since stays')
  await revealIt()
  await page.clock.runFor(12_000)
  await page.getByText(PAN).waitFor()
  await page.clock.runFor(20_000)
  await page.getByRole('button', { name: 'Reveal …' }).waitFor()
  t.same(await tracesOf(page, PAN), [])
  t.notOk(await heapHolds(page, PAN), 'it is not in the memory of the program')

  await revealIt()
  await page.getByRole('link', { name: 'Tokens', exact: true }).click()
  await page.getByRole('table', { name: 'Tokens' }).waitFor()
  t.same(await tracesOf(page, PAN), [], 'the screen was left')

  await page.goBack()
  await page.getByRole('button', { name: 'Delete …' }).click()
  const sure = page.getByRole('dialog')
  t.ok(await sure.getByRole('button', { name: 'Delete' }).isDisabled())
  await sure.getByRole('textbox').fill(id)
  await sure.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { name: 'Tokens' }).waitFor()
  t.equal((await sidevault.call('GET', `/tokens/${id}`, { key })).status, 404)
})

t.test('Tokens: finds what people type, shows how it was read, and opens the query', async (t) => {
  const own = await sidevault.application({ permissions: EVERY })
  const store = async (body: object) =>
    (await sidevault.call('POST', '/tokens', { key: own, body: { type: 'token', ...body } })).json.id
  const ids = {
    card: await store({ type: 'card', data: { number: '4242424242424242' } }),
    name: await store({ data: 'a', metadata: { name: 'Grace Hopper', customer: '1003' } }),
    email: await store({ data: 'grace@example.com', search_indexes: ['{{ data }}'] }),
    alias: await store({ id: 'invoice 42', data: 'b' }),
  }
  const page = await openConsole(t, sidevault, { key: own, hash: '#/tokens' })
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 800 })
    const list = page.getByRole('region', { name: 'Tokens' })
    t.notOk(await list.evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth), `${width} px`)
  }
  const box = page.getByLabel('Search', { exact: true })
  const status = page.getByRole('search').getByRole('status')
  const finds = async (typed: string, words: string, id: string) => {
    await box.fill(typed)
    await box.press('Enter')
    await status.getByText(`Read as: ${words}`).waitFor()
    await page.getByText('1 shown').waitFor()
    await page.getByRole('link', { name: id }).waitFor()
  }
  await finds('4242', 'last four digits in data or metadata (', ids.card)
  t.equal(new URL(page.url()).hash, '#/tokens')
  await finds('Grace Hopper', 'value in data or metadata (', ids.name)
  await finds('Grace@example.com', 'e-mail address in data', ids.email)
  t.equal(new URL(page.url()).hash, '#/tokens')
  await finds(` "${ids.name}" `, 'id of a token', ids.name)
  await finds('invoice 42', 'id of a token', ids.alias)
  await finds('customer:1003', 'metadata customer', ids.name)
  await expectOperable(t, page)

  await page.getByRole('button', { name: 'Edit as a query' }).click()
  t.equal(await box.inputValue(), 'metadata.customer:1003')
  await box.press('End')
  await box.pressSequentially(' type:card')
  await box.press('Enter')
  await page.getByText('No token that this key may see matches.').waitFor()
  t.equal(await status.textContent().then((text) => text?.trim()), '')

  await page.getByRole('group', { name: 'Filters' }).getByLabel('Type').selectOption('card')
  await box.fill('Grace')
  await box.press('Enter')
  await page.getByRole('button', { name: 'Search without the filters' }).click()
  await page.getByText('Data is found by search indexes only').waitFor()
  await expectAccessible(t, page)
  await page.getByRole('button', { name: 'Search for what begins with it' }).click()
  await page.getByRole('link', { name: ids.name }).waitFor()
  t.equal(await box.inputValue(), 'Grace*')

  await page.goto('/console/#/overview')
  await page.goto('/console/#/tokens?q=Grace+Hopper')
  await status.getByText('Read as: value in data').waitFor()
  await page.getByRole('link', { name: ids.name }).waitFor()
  t.equal(new URL(page.url()).hash, '#/tokens')
})

t.test('Tokens: creates a token, changes it, and gives it a child and a parent', async (t) => {
  const other = await cardOf(PAN)
  const page = await openConsole(t, sidevault, { key, hash: '#/tokens' })
  await page.getByRole('button', { name: 'Create a token' }).click()
  const form = page.getByRole('dialog')
  await form.getByLabel('Data', { exact: true }).fill('{"number":"42"}')
  await form.getByRole('button', { name: 'Create' }).click()
  await form.getByText('must').first().waitFor()
  await expectAccessible(t, page)
  await form.getByLabel('Type').selectOption('token')
  await form.getByLabel('Data', { exact: true }).fill('a text')
  await form.getByLabel('Container').fill('general/notes')
  await form.getByLabel('Metadata').fill('order: 9\nb: <b>x</b>')
  await form.getByRole('button', { name: 'Create' }).click()
  await page.getByText('This token has no mask.').waitFor()
  await page.getByRole('link', { name: '/general/notes/' }).waitFor()
  t.equal(
    await page.getByRole('button', { name: 'Reveal …' }).count(),
    0,
    'this key sees masks in this container',
  )

  await page.getByRole('button', { name: 'Edit metadata …' }).click()
  await form.getByLabel('Metadata').fill('no entry')
  await form.getByRole('button', { name: 'Save' }).click()
  await form.getByText('Line 1 is not of the form').waitFor()
  await form.getByLabel('Metadata').fill('order: 10')
  await form.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('link', { name: '10', exact: true }).waitFor()
  t.equal(await page.getByText('<b>x</b>').count(), 0)

  await page.getByRole('button', { name: 'Set expiry …' }).click()
  await form.getByLabel('Expires').fill('2099-01-31T12:00')
  await form.getByRole('button', { name: 'Set expiry' }).click()
  await page.getByText(/in \d+ years/).waitFor()

  const own = decodeURIComponent(new URL(page.url()).hash.replace('#/tokens/', ''))
  const add = async (role: string, id: string) => {
    const form = page.getByRole('form', { name: `Add a ${role}` })
    await form.getByRole('textbox').fill(id)
    await form.getByRole('button', { name: 'Add' }).click()
  }
  const children = page.getByRole('table', { name: 'Children' })
  const parents = page.getByRole('table', { name: 'Parents' })
  await add('child', 'no such token')
  await page.getByRole('alert').getByText('does not exist').waitFor()
  await add('child', other)
  await children.getByText('XXXXXXXXXXXX1486').waitFor()
  await add('parent', other)
  await parents.getByText('XXXXXXXXXXXX1486').waitFor()
  await children.getByRole('button', { name: `Remove ${other}` }).click()
  await form.getByText('is no longer a child of this token').waitFor()
  await form.getByRole('button', { name: 'Remove' }).click()
  await page.getByText('This token has no children.').waitFor()
  await parents.getByRole('link', { name: other }).click()
  await children.getByRole('link', { name: own }).waitFor()
  await children.getByRole('button', { name: `Remove ${own}` }).click()
  await form.getByRole('button', { name: 'Remove' }).click()
  await page.getByText('This token has no children.').waitFor()
  await page.getByText('This token has no parents.').waitFor()
})

t.test(
  'Tokens: hostile texts are shown as text; a revealed value is gone with tab, token and key',
  async (t) => {
    const own = await sidevault.application({ permissions: EVERY, rules: [reveal] })
    const { id: application } = (await sidevault.call('GET', '/applications/key', { key: own })).json
    const id = "weird: é ;,'()~!@$* </script>".replaceAll(/[</>]/g, '"')
    const hostile = '"><img src=x onerror=alert(1)>{{ 7*7 }}\u202eevil'
    const more = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [`entry.${index}`, 'x'.repeat(500)]),
    )
    await cardOf(PAN, { id, metadata: { hostile, constructor: 'x', ...more } })
    const page = await openConsole(t, sidevault, { key: own, hash: '#/tokens', expectedStatuses: [503] })
    await page.getByRole('link', { name: id }).click()
    await page.getByRole('heading', { name: id }).waitFor()
    await page.getByRole('link', { name: hostile }).waitFor()

    const revealIt = async () => {
      await page.getByRole('button', { name: 'Reveal …' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Reveal' }).click()
    }
    await revealIt()
    await page.getByText(PAN).waitFor()
    await page.evaluate(`Object.defineProperty(document, 'hidden', { get: () => true, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
    delete document.hidden`)
    t.same(await tracesOf(page, PAN), [], 'the tab was hidden')

    const url = '**/console/api/tokens/weird*'
    await page.route(url, (route) =>
      route.fulfill({ status: 503, json: { title: 'Service unavailable', detail: 'Retry.' } }),
    )
    await revealIt()
    await page.getByRole('alert').getByText('Sidevault is not ready').waitFor()
    await page.unroute(url)

    await sidevault.call('DELETE', `/tokens/${encodeURIComponent(id)}`, { key })
    await revealIt()
    await page.getByRole('alert').getByText('Not found').waitFor()
    await page.reload()
    await page.getByText('This token does not exist.').waitFor()

    await page.goto(`/console/#/tokens/${await cardOf(PAN)}`)
    await page.getByText('This token has no children.').waitFor()
    await page.getByRole('button', { name: 'Reveal …' }).click()
    await sidevault.call('DELETE', `/applications/${application}`, { key: sidevault.managementKey })
    await page.getByRole('dialog').getByRole('button', { name: 'Reveal' }).click()
    await page.getByRole('heading', { name: 'Your session ended' }).waitFor()
    t.same(await tracesOf(page, PAN), [], 'the key was revoked')
  },
)
