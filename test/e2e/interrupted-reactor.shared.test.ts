import t from 'tap'
import { startOutside } from '../kit/outside.ts'
import type { Response } from '../kit/sidevault.ts'
import { descendants, until } from '../supervisor/processes.ts'

t.test('a reactor whose process is killed has a failed result, and is not run again', async (t) => {
  const { sidevault } = await startOutside()
  const key = await sidevault.application({ permissions: ['token:use', 'token:create'] })
  const make = async (code: string): Promise<string> =>
    (await sidevault.call('POST', '/reactors', { key: sidevault.managementKey, body: { name: 'r', code } }))
      .json.id
  const begin = async (code: string) => {
    const id = await make(code)
    const started = await sidevault.call('POST', `/reactors/${id}/react-async`, { key, body: {} })
    return () =>
      sidevault.call('GET', `/reactors/${id}/results/${started.json.asyncReactorRequestId}`, { key })
  }
  const ended = async (result: () => Promise<Response>) => {
    let response: Response | undefined
    await until('the result is there', async () => {
      response = await result()
      return response.status === 200
    })
    return response?.json
  }
  const lasting = (ms: number) =>
    `module.exports = () => new Promise((resolve) => setTimeout(() => resolve({ raw: 1 }), ${ms}))`

  const alive = await begin(lasting(5_000))
  t.same(await ended(alive), { raw: 1 }, 'it is not taken for dead while its process lives')

  const interrupted = await begin(lasting(25_000))
  const admin = descendants(sidevault.pid).find(({ command }) => command.includes('sidevault: admin'))
  process.kill(admin?.pid ?? 0, 'SIGKILL')
  t.match(await ended(interrupted), { error: { status: 504, code: 'gateway_timeout' } })

  const short = await make('module.exports = () => ({ raw: 1 })')
  t.same((await sidevault.call('POST', `/reactors/${short}/react`, { key, body: {} })).json, { raw: 1 })
})
