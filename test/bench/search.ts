/** Cost of searches in process, one after the other, HTTP included: `node test/bench/search.ts [tokens stored]`. */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Test } from 'tap'
import type { SearchNode } from '../../src/store/tokens/types.ts'
import { parseQuery } from '../../src/vault/search/parser.ts'
import { startTestService } from '../kit/service.ts'
import { ALL_TOKEN_PERMISSIONS } from '../kit/sidevault.ts'
import { fillTokens } from '../store/sqlite/filled.ts'
import { tracedStore } from '../store/sqlite/kit.ts'

const ROUNDS = 300
const stored = Number(process.argv[2] ?? 1_000_000)
const closers: (() => unknown)[] = []
const scope = { teardown: (close: () => unknown) => closers.unshift(close) } as unknown as Test
const service = await startTestService(scope)
try {
  const db = new Database(join(service.directory, 'vault.db'))
  fillTokens(db, 1, stored + 1, service.tenantId)
  db.close()
  const key = await service.application({ permissions: ALL_TOKEN_PERMISSIONS })
  const created = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      service.call('POST', '/tokens', {
        key,
        body: {
          data: `needle-${index % 8}`,
          search_indexes: ['{{ data }}'],
          fingerprint_expression: '{{ data }}',
          metadata: { of: `${index % 8}` },
        },
      }),
    ),
  )
  const { id, fingerprint } = created[0]!.json
  const throughApi = [
    'data:"needle-1"',
    'data:"needle-1" AND type:token AND metadata.of:1',
    'data:"needle-1" OR metadata.of:2',
    'metadata.of:1',
    `fingerprint:${fingerprint}`,
    `id:${id}`,
    'type:token',
    'container:/general/*',
    'created_at:[2020-01-01 TO *]',
  ]
  /**
   * Searches that match generated rows, which cannot be opened, run on the store: a page and the total.
   */
  const ofStore = [
    '',
    'container:/c0/ OR container:/c1/',
    'created_at:[2033-05-19T01:00:00Z TO 2033-05-25T02:03:04Z]',
    'created_at:[2033-05-19 TO 2033-05-25] AND type:card AND container:/c1/',
    'NOT created_at:[2033-05-19 TO 2033-05-25]',
    'modified_at:[2020-01-01 TO *]',
    'created_by:application-1',
    'created_by:application-1 AND type:card',
    'metadata.color:red',
    'metadata.color:red AND container:/c1/',
    'NOT metadata.color:red',
    'metadata.color:red AND metadata.n:4711',
    'metadata.color:red AND created_at:[2033-05-19 TO 2033-05-20]',
    'metadata.color:red AND created_by:application-1',
    'metadata.color:red OR type:token',
  ]
  const head = (...cells: string[]) =>
    process.stdout.write(`\n| ${cells.join(' | ')} |\n| ${cells.map(() => '---').join(' | ')} |\n`)
  const among = `among ${stored.toLocaleString('en')} tokens`
  const measure = async (search: () => Promise<number>, ms = 4_000) => {
    const times: number[] = []
    let matches = 0
    const before = process.cpuUsage()
    for (let round = 0; round < ROUNDS && times.reduce((sum, ms) => sum + ms, 0) < ms; round++) {
      const start = performance.now()
      matches = await search()
      times.push(performance.now() - start)
    }
    const { user, system } = process.cpuUsage(before)
    times.sort((a, b) => a - b)
    const at = (share: number) => times[Math.floor(times.length * share)]!.toFixed(2)
    return { matches, p50: at(0.5), p99: at(0.99), cpu: ((user + system) / 1_000 / times.length).toFixed(2) }
  }
  const row = (...cells: (string | number)[]) => process.stdout.write(`| ${cells.join(' | ')} |\n`)
  head(`query through the API, ${among}`, 'found', 'p50 ms', 'p99 ms', 'CPU ms')
  for (const query of throughApi) {
    const { matches, p50, p99, cpu } = await measure(async () => {
      const { status, json, text } = await service.call('POST', '/v2/tokens/search', { key, body: { query } })
      if (status !== 200) throw new Error(text)
      return json.data.length
    })
    row(`\`${query}\``, matches, p50, p99, cpu)
  }
  // On this thread, so that its CPU is seen.
  const { store, db: own } = tracedStore(join(service.directory, 'vault.db'))
  closers.unshift(() => own.close())
  const { tokens } = store
  head(`query of the store, ${among}`, 'found', 'page: p50 ms', 'CPU ms', 'total: p50 ms', 'CPU ms')
  for (const query of ofStore) {
    const where = query === '' ? undefined : parseQuery(query, (text) => Buffer.from(text))
    const matching = {
      tenantId: service.tenantId,
      now: Date.now(),
      visibility: 'all',
      ...(where ? { where } : {}),
    } as const
    const page = await measure(async () => (await tokens.list({ ...matching, size: 21 })).length)
    // Said another way each time, so that no total is one that was kept.
    const said: SearchNode[] = where ? [where] : []
    const total = await measure(async () => {
      said.push({ kind: 'and', nodes: [] })
      return tokens.count({ ...matching, where: { kind: 'and', nodes: said } })
    }, 2_000)
    row(`\`${query}\``, total.matches.toLocaleString('en'), page.p50, page.cpu, total.p50, total.cpu)
  }
  const all = { tenantId: service.tenantId, now: Date.now(), visibility: 'all' } as const
  const offset = Math.floor(stored * 0.9)
  const deep = await measure(async () => (await tokens.list({ ...all, size: 20, offset })).length)
  row(`the page from number ${offset.toLocaleString('en')} on`, deep.matches, deep.p50, deep.cpu, '', '')
} finally {
  for (const close of closers) await close()
}
