import t from 'tap'
import { startTestService } from '../../kit/service.ts'
import { openInThread } from '../../kit/store-in-thread.ts'

t.test('/ca.pem needs no key, and is 404 without a forward proxy', async (t) => {
  const { call } = await startTestService(t, { openStore: openInThread, plugins: [] })
  t.match(await call('GET', '/ca.pem', { key: null }), { status: 404, json: { code: 'not_found' } })
  const caPem = async () => '-----BEGIN CERTIFICATE-----\n'
  const on = await startTestService(t, { openStore: openInThread, plugins: [], caPem })
  const { status, headers, text } = await on.call('GET', '/ca.pem', { key: null })
  t.match(
    { status, type: headers['content-type'], text },
    { status: 200, type: /^application\/x-pem-file/, text: await caPem() },
  )
  t.match(await on.call('POST', '/ca.pem', { key: null }), { status: 405, headers: { allow: 'GET, HEAD' } })
})
