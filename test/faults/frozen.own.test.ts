import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { journalsHold } from '../kit/journals.ts'
import { ALL_TOKEN_PERMISSIONS, type Response, startSidevault } from '../kit/sidevault.ts'
import { descendants, until } from '../supervisor/processes.ts'
import { failingDisk } from './disk.ts'

const TIMEOUT = 120_000
/** Calls of each kind while the disk takes nothing, and while in addition processes die of it. */
const REJECTED = 25
const DYING = 4

const disk = failingDisk(96)

t.test(
  'calls fail with a reason while a disk rejects writes, disclose nothing unrecorded, and recover',
  { skip: typeof disk === 'string' && disk },
  async (t) => {
    if (typeof disk === 'string') return
    t.teardown(disk.unmount)
    const dataDir = join(disk.path, 'data')
    const env = { SIDEVAULT_LOG_LEVEL: 'warn' }
    const sidevault = await startSidevault({ dataDir, env })
    t.teardown(() => sidevault.stop())
    const key = await sidevault.application({ permissions: ALL_TOKEN_PERMISSIONS })
    const retained: string[] = []
    let disclosed = 0

    const create = async (data: string): Promise<Response> => {
      const response = await sidevault.call('POST', '/tokens', { key, body: { data } })
      if (response.status === 201) retained.push(response.json.id)
      return response
    }
    const subject: string = (await create('the disclosed one')).json.id
    const read = () => sidevault.call('GET', `/tokens/${subject}`, { key })
    const disclose = async (): Promise<Response> => {
      const response = await sidevault.call('POST', '/proxy', {
        key,
        headers: { 'svc-proxy-url': 'https://demo.sidevault.test' },
        body: { v: `{{ ${subject} }}` },
      })
      if (response.text.includes('the disclosed one')) disclosed++
      return response
    }
    const works = async () => (await create('works')).status === 201 && (await disclose()).status === 200
    const processes = () =>
      descendants(sidevault.pid)
        .filter(({ command }) => /^sidevault: (admin|gateway)/.test(command))
        .map(({ pid }) => pid)
        .sort()

    /** Responses of calls in lanes while `happens`, until each kind was rejected often. */
    const during = async (happens: () => void, rejections: number): Promise<Response[]> => {
      const kinds = [() => create('under load'), read, disclose]
      const responses: Response[] = []
      const lanes = kinds.map(async (call) => {
        for (let rejected = 0; rejected < rejections; ) {
          const response = await call()
          responses.push(response)
          if (response.status >= 400) rejected++
        }
      })
      await delay(200)
      happens()
      await Promise.all(lanes)
      return responses
    }
    const clearly = (responses: readonly Response[], words: RegExp) => {
      for (const { status, text } of responses.filter((response) => response.status >= 400))
        if (![502, 503, 504].includes(status) || !words.test(text)) t.fail(`${status} ${text}`)
    }

    await until('it works', works, TIMEOUT)
    const before = processes()
    const printed = sidevault.stderr().length
    // Memory maps that processes share stay writable: no process is killed by a page that cannot be written.
    const responses = await during(() => disk.freeze('-shm'), REJECTED)
    clearly(responses, /disk/i)
    t.ok(responses.filter(({ status }) => status === 503 || status === 504).length >= 3 * REJECTED)
    const ready = await sidevault.call('GET', '/readyz')
    t.match(ready, { status: 503, json: { detail: /store.*journal.*gateway-0/ } })
    t.equal((await sidevault.call('GET', '/healthz')).status, 200, 'it is alive')
    const lines = sidevault.stderr().slice(printed).split('\n')
    t.match(lines.join('\n'), /audit journal cannot be written/)
    const failed = lines.filter((line) => line.includes('"a call failed"'))
    t.ok(failed.length < REJECTED, `${failed.length} lines for ${responses.length} calls`)
    disk.release()
    await until('it works again', works, TIMEOUT)
    t.strictSame(processes(), before, 'by itself, in the same processes')
    t.equal((await sidevault.call('GET', '/readyz')).status, 200)

    // Now shared pages cannot be written either, which kills who tries: no process can say more than that it is away.
    clearly(
      await during(() => disk.freeze(), DYING),
      /disk|does not respond|Retry|may have (received|processed)/,
    )
    await until('it is not ready', async () => (await sidevault.call('GET', '/readyz')).status >= 500)
    disk.release()
    await until('it works again', works, TIMEOUT)
    await until('it is ready', async () => (await sidevault.call('GET', '/readyz')).status === 200, TIMEOUT)

    for (const id of retained)
      if ((await sidevault.call('GET', `/tokens/${id}`, { key })).status !== 200) t.fail(`${id} is lost`)
    t.comment(`${retained.length} creates acknowledged, ${disclosed} disclosures`)
    await until(
      'every disclosure has its record',
      async () => {
        const path = `/logs?entity_id=${subject}&size=1`
        const { json } = await sidevault.call('GET', path, { key: sidevault.managementKey })
        return json.pagination.total_items >= disclosed
      },
      TIMEOUT,
    )

    // As a kernel does that finds errors: read-only with everything open, until it is mounted again.
    clearly(await during(disk.abort, DYING), /disk|does not respond|Retry|may have (received|processed)/)
    await sidevault.kill()
    await until('all are gone', disk.mountAgain, TIMEOUT)
    const again = await startSidevault({ dataDir, env })
    t.teardown(() => again.stop())
    for (const id of retained)
      if ((await again.call('GET', `/tokens/${id}`, { key })).status !== 200) t.fail(`${id} is lost`)
    journalsHold(t, dataDir)
  },
)
