import { join } from 'node:path'
import t, { type Test } from 'tap'
import { serveSocket } from '../../src/common/serve-socket.ts'
import { createOpenedHosts } from '../../src/forward-proxy/opened-hosts.ts'
import { directoryFor } from '../kit/directory.ts'
import { until } from '../kit/until.ts'

/** A control plane, and its responses in progress. */
const controlFor = async (t: Test) => {
  const control = join(directoryFor(t), 'control.sock')
  const questions: string[] = []
  const responses: (() => void)[] = []
  const { close } = await serveSocket(control, (request, response) => {
    questions.push(`${request.method} ${request.url}`)
    responses.push(() => response.end('{}'))
  })
  t.teardown(close)
  return { control, questions, responses }
}

t.test('tunnels to a host ask the control plane once together, and again after a change', async (t) => {
  const { control, questions, responses } = await controlFor(t)
  let version = 1
  const whenOpened = createOpenedHosts(() => version, { control })
  const tunnels = Array.from({ length: 50 }, () => whenOpened('api.test'))
  await until('the question is there', () => responses.length > 0)
  responses[0]?.()
  await Promise.all(tunnels)
  t.equal(whenOpened('api.test'), undefined, 'a later tunnel does not wait')
  version = 2
  const again = whenOpened('api.test')
  await until('the next question is there', () => responses.length > 1)
  responses[1]?.()
  await again
  t.same(questions, ['GET /forward-hosts/api.test', 'GET /forward-hosts/api.test'])
})

t.test(
  'a tunnel does not wait for a control plane that is absent, or longer than a time limit',
  async (t) => {
    const { control } = await controlFor(t)
    await createOpenedHosts(() => 1, { control: `${control}.absent` })('api.test')
    const whenOpened = createOpenedHosts(() => 1, { control, timeoutMs: 10 })
    await whenOpened('api.test')
    t.equal(whenOpened('api.test'), undefined)
  },
)
