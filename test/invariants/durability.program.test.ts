import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { journalsHold } from '../kit/journals.ts'
import { ALL_TOKEN_PERMISSIONS, startSidevault } from '../kit/sidevault.ts'
import { until } from '../supervisor/processes.ts'

/** Every process below `pid`, by /proc. */
const descendants = (pid: number): number[] => {
  const parents = new Map<number, number[]>()
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
      parents.set(parent, [...(parents.get(parent) ?? []), Number(name)])
    } catch {
      // it has ended
    }
  }
  const below = (one: number): number[] =>
    (parents.get(one) ?? []).flatMap((child) => [child, ...below(child)])
  return below(pid)
}

t.test(
  'kill -9 of every process loses no acknowledged write, leaves none partial, and no unrecorded disclosure',
  async (t) => {
    const first = await startSidevault()
    const { dataDir, port } = first
    t.teardown(() => rmSync(dataDir, { recursive: true, force: true }))
    const key = await first.application({ permissions: ALL_TOKEN_PERMISSIONS })
    const shown = (await first.call('POST', '/tokens', { key, body: { data: 'the shown one' } })).json.id

    const acknowledged: string[] = []
    const disclosed: string[] = []
    let running = true
    const writer = async (lane: number) => {
      for (let i = 0; running; i++) {
        const response = await first
          .call('POST', '/tokens', {
            key,
            body: { data: `${lane}/${i}`, metadata: { lane: String(lane), i: String(i) } },
          })
          .catch(() => undefined)
        if (response?.status === 201) acknowledged.push(response.json.id)
      }
    }
    const reader = async () => {
      while (running) {
        const response = await first
          .call('POST', '/proxy', {
            key,
            headers: {
              'svc-proxy-url': 'https://demo.sidevault.test',
              'svc-trace-id': `use-${disclosed.length}`,
            },
            body: { v: `{{ ${shown} }}` },
          })
          .catch(() => undefined)
        if (response?.status === 200) disclosed.push(response.headers.get('svc-trace-id') ?? '')
      }
    }
    const lanes = [...Array.from({ length: 8 }, (_, lane) => writer(lane)), reader()]
    await until(
      'enough was written and disclosed',
      () => acknowledged.length > 100 && disclosed.length > 20,
      300_000,
    )
    const all = [first.pid, ...descendants(first.pid)]
    for (const pid of all) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // it has ended
      }
    }
    running = false
    await Promise.all(lanes)
    t.comment(`${acknowledged.length} writes and ${disclosed.length} disclosures before the kill`)

    const second = await startSidevault({ dataDir, port })
    t.teardown(() => second.stop())
    let present = 0
    for (const id of acknowledged) {
      const response = await second.call('POST', '/detokenize', { key, body: [`{{ ${id} }}`] })
      if (response.status === 200) present++
    }
    t.equal(present, acknowledged.length, 'every acknowledged token is there')
    let seen = 0
    for (let start = ''; ; ) {
      const page = await second.call(
        'GET',
        `/v2/tokens?size=100${start === '' ? '' : `&start=${encodeURIComponent(start)}`}`,
        { key },
      )
      t.equal(page.status, 200)
      for (const token of page.json.data)
        if (token.id !== shown && token.metadata?.lane === undefined) t.fail(`${token.id} is half there`)
      seen += page.json.data.length
      if (page.json.pagination.next === undefined) break
      start = page.json.pagination.next
    }
    t.ok(seen >= acknowledged.length, `${seen} tokens listed`)

    const journal = readdirSync(join(dataDir, 'audit'))
      .filter((name) => name.endsWith('.jsonl'))
      .map((name) => readFileSync(join(dataDir, 'audit', name), 'utf8'))
      .join('')
    for (const trace of disclosed)
      if (!journal.includes(`"${trace}"`)) t.fail(`no record of disclosure ${trace}`)

    journalsHold(t, dataDir)
  },
)
