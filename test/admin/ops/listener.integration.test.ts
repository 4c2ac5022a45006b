import t from 'tap'
import { startTestService } from '../../kit/service.ts'
import { openInThread } from '../../kit/store-in-thread.ts'

const PAGES = ['/healthz', '/readyz', '/metrics', '/docs', '/docs/errors', '/docs/api']

const own = { host: '127.0.0.1:8080', 'sec-fetch-site': 'same-origin', 'x-sidevault-console': '1' }

t.test('pages of operators are on their listener, and 404 with the API', async (t) => {
  const { admin, call, managementKey } = await startTestService(t, {
    openStore: openInThread,
    admin: { console: true, ops: { host: '127.0.0.1', port: 0 } },
  })
  const operations = (path: string, init: RequestInit = {}) => fetch(`${admin.ops?.address}${path}`, init)
  for (const path of PAGES) {
    t.equal((await operations(path)).status, 200, path)
    for (const method of ['GET', 'HEAD', 'POST'])
      t.equal((await call(method, path, { key: managementKey })).status, 404, `${method} ${path}`)
  }
  t.equal((await operations('/metrics', { method: 'POST' })).status, 405)
  const noKey = { headers: { 'svc-api-key': managementKey } }
  for (const path of ['/applications', '/console/', '/proxy', '/ca.pem'])
    t.equal((await operations(path, noKey)).status, 404, path)
  const [document, same] = [
    await call('GET', '/openapi.json', { key: null }),
    await operations('/openapi.json'),
  ]
  t.strictSame(await same.json(), document.json, 'the document of the API is at both')

  await t.test('only a session of the console reads them there', async (t) => {
    const read = (path: string, headers: object = {}) =>
      call('GET', path, { key: null, headers: { ...own, ...headers } })
    const signedIn = await call('POST', '/console/session', {
      key: null,
      headers: own,
      body: { key: managementKey },
    })
    const cookie = String(signedIn.headers['set-cookie']).split(';', 1)[0]
    t.match(await read('/console/api/metrics', { cookie }), { status: 200, text: /sidevault_process_up/ })
    t.match(await read('/console/api/readyz', { cookie }), { status: 200, json: { status: 'ok' } })
    for (const path of ['/console/api/metrics', '/console/api/readyz'])
      t.equal((await read(path)).status, 401)
    t.equal((await read('/console/api/docs', { cookie })).status, 404)
    t.equal((await read('/metrics', { cookie })).status, 404)
  })
})

t.test('a node without the management API serves health and metrics to operators', async (t) => {
  const { admin, call } = await startTestService(t, {
    openStore: openInThread,
    admin: { management: false, ops: { host: '127.0.0.1', port: 0 } },
  })
  const statusOf = async (path: string) => (await fetch(`${admin.ops?.address}${path}`)).status
  for (const path of ['/healthz', '/readyz', '/metrics']) t.equal(await statusOf(path), 200, path)
  for (const path of ['/docs', '/openapi.json']) t.equal(await statusOf(path), 404, path)
  t.match((await call('GET', '/metrics', { key: null })).json, { detail: /^This node serves \/proxy only/ })
})
