import { request } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { ensureDemoCertificate } from '../../src/supervisor/demo-certificate.ts'
import { startDemoDestination } from '../../src/supervisor/demo-destination.ts'
import { directoryFor } from '../kit/directory.ts'

t.test('the demo destination echoes small bodies, and only the length of large ones', async (t) => {
  const directory = directoryFor(t)
  const socketPath = join(directory, 'demo.sock')
  const demo = await startDemoDestination(
    socketPath,
    await ensureDemoCertificate(directory, 1_700_000_000_000),
  )
  t.teardown(() => demo.close())
  const send = (body: string) =>
    new Promise<{ body: unknown }>((resolve, reject) => {
      const sent = request(
        { socketPath, method: 'POST', path: '/pay', rejectUnauthorized: false },
        (response) => text(response).then((echo) => resolve(JSON.parse(echo)), reject),
      )
      sent.on('error', reject).end(body)
    })
  t.match(await send('{"a":1}'), { method: 'POST', path: '/pay', body: { a: 1 } })
  t.match(await send(''), { body: null })
  t.match(await send('x'.repeat(65_537)), { body: /^\(65537 bytes/ })
})
