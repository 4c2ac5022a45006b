import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { journalsHold } from '../kit/journals.ts'
import { ALL_TOKEN_PERMISSIONS, type Answer, startSidevault } from '../kit/sidevault.ts'
import { descendants, until } from '../supervisor/processes.ts'
import { failingDisk } from './disk.ts'

const PATIENCE = 120_000
/** Calls of each kind while the disk takes nothing, and while in addition processes die of it. */
const REFUSED = 25
const DYING = 4

const disk = failingDisk(96)

t.test(
  'a disk that takes no more writes while the service runs: refused clearly, nothing disclosed without its record or lost, and over when it is over',
  { skip: typeof disk === 'string' && disk },
  async (t) => {
    if (typeof disk === 'string') return
    t.teardown(disk.unmount)
    const dataDir = join(disk.path, 'data')
    const env = { SIDEVAULT_LOG_LEVEL: 'warn' }
    const sidevault = await startSidevault({ dataDir, env })
    t.teardown(() => sidevault.stop())
    const key = await sidevault.application({ permissions: ALL_TOKEN_PERMISSIONS })
    const kept: string[] = []
    let disclosed = 0

    const create = async (data: string): Promise<Answer> => {
      const answer = await sidevault.call('POST', '/tokens', { key, body: { data } })
      if (answer.status === 201) kept.push(answer.json.id)
      return answer
    }
    const subject: string = (await create('the disclosed one')).json.id
    const read = () => sidevault.call('GET', `/tokens/${subject}`, { key })
    const disclose = async (): Promise<Answer> => {
      const answer = await sidevault.call('POST', '/proxy', {
        key,
        headers: { 'svc-proxy-url': 'https://demo.sidevault.test' },
        body: { v: `{{ ${subject} }}` },
      })
      if (answer.text.includes('the disclosed one')) disclosed++
      return answer
    }
    const works = async () => (await create('works')).status === 201 && (await disclose()).status === 200
    const processes = () =>
      descendants(sidevault.pid)
        .filter(({ command }) => /^sidevault: (admin|gateway)/.test(command))
        .map(({ pid }) => pid)
        .sort()

    /** Calls in lanes, while `happens`, and until each kind was refused often; their answers. */
    const meanwhile = async (happens: () => void, refusals: number): Promise<Answer[]> => {
      const kinds = [() => create('under load'), read, disclose]
      const answers: Answer[] = []
      const lanes = kinds.map(async (call) => {
        for (let refused = 0; refused < refusals; ) {
          const answer = await call()
          answers.push(answer)
          if (answer.status >= 400) refused++
        }
      })
      await delay(200)
      happens()
      await Promise.all(lanes)
      return answers
    }
    const clearly = (answers: readonly Answer[], words: RegExp) => {
      for (const { status, text } of answers.filter((answer) => answer.status >= 400))
        if (![502, 503, 504].includes(status) || !words.test(text)) t.fail(`${status} ${text}`)
    }

    await until('it works', works, PATIENCE)
    const before = processes()
    const printed = sidevault.stderr().length
    // What processes share by memory maps stays as it is: nobody dies of a page that cannot be written.
    const answers = await meanwhile(() => disk.freeze('-shm'), REFUSED)
    clearly(answers, /disk/i)
    t.ok(answers.filter(({ status }) => status === 503 || status === 504).length >= 3 * REFUSED)
    const ready = await sidevault.call('GET', '/readyz')
    t.match(ready, { status: 503, json: { detail: /store.*journal.*gateway-0/ } })
    t.equal((await sidevault.call('GET', '/healthz')).status, 200, 'it is alive')
    const lines = sidevault.stderr().slice(printed).split('\n')
    t.match(lines.join('\n'), /audit journal cannot be written/)
    const failed = lines.filter((line) => line.includes('"a call failed"'))
    t.ok(failed.length < REFUSED, `${failed.length} lines tell of ${answers.length} calls`)
    disk.release()
    await until('it works again', works, PATIENCE)
    t.strictSame(processes(), before, 'by itself, in the same processes')
    t.equal((await sidevault.call('GET', '/readyz')).status, 200)

    // Now shared pages cannot be written either, which kills who tries: no process can say more than that it is away.
    clearly(await meanwhile(() => disk.freeze(), DYING), /disk|does not answer|Retry/)
    await until('it is not ready', async () => (await sidevault.call('GET', '/readyz')).status >= 500)
    disk.release()
    await until('it works again', works, PATIENCE)
    await until('it is ready', async () => (await sidevault.call('GET', '/readyz')).status === 200, PATIENCE)

    for (const id of kept)
      if ((await sidevault.call('GET', `/tokens/${id}`, { key })).status !== 200) t.fail(`${id} is lost`)
    t.comment(`${kept.length} creates acknowledged, ${disclosed} disclosures`)
    await until(
      'every disclosure has its record',
      async () => {
        const path = `/logs?entity_id=${subject}&size=1`
        const { json } = await sidevault.call('GET', path, { key: sidevault.managementKey })
        return json.pagination.total_items >= disclosed
      },
      PATIENCE,
    )

    // As a kernel does that finds errors: read-only with everything open, until it is mounted anew.
    clearly(await meanwhile(disk.abort, DYING), /disk|does not answer|Retry/)
    await sidevault.kill()
    await until('all are gone', disk.mountAgain, PATIENCE)
    const again = await startSidevault({ dataDir, env })
    t.teardown(() => again.stop())
    for (const id of kept)
      if ((await again.call('GET', `/tokens/${id}`, { key })).status !== 200) t.fail(`${id} is lost`)
    journalsHold(t, dataDir)
  },
)
