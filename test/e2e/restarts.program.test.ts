/**
 * One data directory through three starts: what each start leaves is there at the next one, however it ends. Tests that
 * a start follows are awaited.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { command } from '../commands/in-process.ts'
import { ALL_TOKEN_PERMISSIONS, applicationBy, callerOf, freePort, startSidevault } from '../kit/sidevault.ts'
import { descendants, isAlive, until } from '../supervisor/processes.ts'
import { start } from '../supervisor/start.ts'
import { allBytes, pasted } from './first-lines.ts'
import { rejectsConnections, slowRequest } from './in-flight.ts'

const directory = t.testdir()
const dataDir = join(directory, 'a path with spaces')
const port = await freePort()
const call = callerOf(`http://127.0.0.1:${port}`)
const operate = (...args: string[]) => command(directory, args, { SIDEVAULT_DATA_DIR: dataDir })
const kill = (pid: number) => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it has ended
  }
}

const first = await start(dataDir, { port })
t.teardown(() => kill(first.child.pid ?? 0))
const keyFile = join(dataDir, 'management.key')
const managementKey = readFileSync(keyFile, 'utf8').trim()
const application = applicationBy(call, managementKey)

await t.test(
  'the three printed lines show the card number at the destination, in sh and in bash',
  async (t) => {
    t.match(managementKey, /^key_[1-9A-HJ-NP-Za-km-z]{20,}$/)
    t.equal(statSync(keyFile).mode & 0o777, 0o600)
    t.ok(first.output.stdout.includes(keyFile), 'its file is printed')
    const printed = () => first.output.stdout + first.output.stderr
    t.notMatch(printed(), managementKey, 'and not the key: a pipe may end in a log')
    const lines = pasted(first.output.stdout)
    t.equal(lines.length, 3)
    for (const shell of ['sh', 'bash']) {
      const received = execFileSync(shell, { input: `${lines.join('\n')}\n`, encoding: 'utf8' })
      t.equal(JSON.parse(received).body.card, '4242424242424242', shell)
    }
    const nowhere = lines.join('\n').replace('demo.sidevault.test', 'unknown.invalid')
    t.equal(JSON.parse(execFileSync('sh', { input: nowhere, encoding: 'utf8' })).proxy_error.status, 502)
    await until('the failure is logged', () => first.output.stderr.includes('"msg":"failed call"'))
    t.equal(statSync(dataDir).mode & 0o777, 0o700)
    rmSync(keyFile)
    t.notMatch(allBytes(dataDir), managementKey, 'no other file holds the key')
  },
)

const key = await application({
  rules: [
    {
      description: 'all',
      priority: 1,
      container: '/',
      transform: 'reveal',
      permissions: ALL_TOKEN_PERMISSIONS,
    },
  ],
})
/** Ids of tokens with the data `value 0`, `value 1`, … */
const values: string[] = []

await t.test('root key and data keys are rotated while a service runs', async (t) => {
  const create = async () => {
    const body = { data: `value ${values.length}` }
    const { status, json, text } = await call('POST', '/tokens', { key, body })
    if (status !== 201) t.fail(text)
    values.push(json.id)
  }
  for (let i = 0; i < 20; i++) await create()
  const oldRoot = readFileSync(join(dataDir, 'root.key'), 'utf8')
  let stop = false
  const load = (async () => {
    for (let i = 0; !stop; i++) {
      await create()
      const at = i % values.length
      const { json } = await call('GET', `/tokens/${values[at]}`, { key })
      if (json.data !== `value ${at}`) t.fail(`token ${at}: ${JSON.stringify(json)}`)
    }
  })()
  t.match(await operate('keys', 'rotate-root'), {
    code: 0,
    text: /^wrapped \d+ keys(?:.*\n)*^retained .*root\.key\.[0-9a-f]{16}: (?:.*\n)*^rotated /m,
  })
  t.match(await operate('keys', 'rotate-data'), {
    code: 0,
    text: /^rotated \S+: data key version 2, \d+ values/m,
  })
  t.match(await operate('keys', 'destroy-old'), { code: 1, text: /^skipped \S+: running calls/m })
  stop = true
  await load
  const made = await operate('tenants', 'create', 'Another')
  t.match(made, { code: 0 }, 'a key made now is under the new root key')
  t.not(readFileSync(join(dataDir, 'root.key'), 'utf8'), oldRoot)
  t.equal(readdirSync(dataDir).filter((name) => name.startsWith('root.key')).length, 2)
})

interface Listed {
  readonly id: string
  readonly metadata?: Readonly<Record<string, string>>
}
const allTokens = async (): Promise<readonly Listed[]> => {
  const tokens: Listed[] = []
  for (let next: string | undefined = ''; next !== undefined; ) {
    const start = next === '' ? '' : `&start=${encodeURIComponent(next)}`
    const page = await call('GET', `/v2/tokens?size=100${start}`, { key })
    tokens.push(...page.json.data)
    next = page.json.pagination.next
  }
  return tokens
}
/** Ids of tokens from before the load under which every process is killed. */
const before = new Set<string>()
const acknowledged: string[] = []
const disclosed: string[] = []

await t.test('every process is killed under load', async (t) => {
  for (const { id } of await allTokens()) before.add(id)
  let running = true
  const writer = async (lane: number) => {
    for (let i = 0; running; i++) {
      const metadata = { lane: String(lane), i: String(i) }
      const body = { data: `${lane}/${i}`, metadata }
      const response = await call('POST', '/tokens', { key, body }).catch(() => undefined)
      if (response?.status === 201) acknowledged.push(response.json.id)
    }
  }
  const reader = async () => {
    while (running) {
      const headers = {
        'svc-proxy-url': 'https://demo.sidevault.test',
        'svc-trace-id': `use-${disclosed.length}`,
      }
      const body = { v: `{{ ${values[0]} }}` }
      const response = await call('POST', '/proxy', { key, headers, body }).catch(() => undefined)
      if (response?.status === 200) disclosed.push(response.headers.get('svc-trace-id') ?? '')
    }
  }
  const lanes = [...Array.from({ length: 8 }, (_, lane) => writer(lane)), reader()]
  await until('enough was done', () => acknowledged.length > 100 && disclosed.length > 20, 300_000)
  const { pid = 0 } = first.child
  for (const each of [pid, ...descendants(pid).map((process) => process.pid)]) kill(each)
  running = false
  await Promise.all(lanes)
  t.comment(`${acknowledged.length} writes and ${disclosed.length} disclosures before the kill`)
  await first.exited
})

const second = await start(dataDir, { port })
t.teardown(() => kill(second.child.pid ?? 0))

t.test('no value is lost by rotated keys, and no acknowledged write by the kill', async (t) => {
  t.ok(values.length > 20)
  for (const [at, id] of values.entries())
    t.match(await call('GET', `/tokens/${id}`, { key }), { status: 200, json: { data: `value ${at}` } })
  const lost: string[] = []
  for (const id of acknowledged)
    if ((await call('POST', '/detokenize', { key, body: [`{{ ${id} }}`] })).status !== 200) lost.push(id)
  t.same(lost, [])

  const tokens = await allTokens()
  const partial = tokens.filter(({ id, metadata }) => metadata?.lane === undefined && !before.has(id))
  t.same(partial, [], 'no token is half there')
  t.ok(tokens.length >= acknowledged.length + before.size, `${tokens.length} tokens`)

  const journal = readdirSync(join(dataDir, 'audit'))
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => readFileSync(join(dataDir, 'audit', name), 'utf8'))
    .join('')
  t.same(
    disclosed.filter((trace) => !journal.includes(`"${trace}"`)),
    [],
    'every disclosure has its record',
  )
  t.match(await operate('audit', 'verify'), { code: 0, text: /^ok {6}operator: 3 records$/m })
  const logs = await call('GET', '/logs?entity_type=tenant', { key: managementKey })
  t.match(JSON.stringify(logs.json), /Data key rotated to version 2/)
})

t.test('a second start prints no key, and the first one holds', async (t) => {
  t.notMatch(second.output.stdout + second.output.stderr, /key_/)
  t.match(second.output.stdout, /Set SIDEVAULT_BOOTSTRAP_KEY/)
  const lines = pasted(second.output.stdout)
  t.equal(lines.length, 3)
  const printed = execFileSync('sh', {
    input: lines.join('\n'),
    encoding: 'utf8',
    env: { PATH: process.env.PATH, SIDEVAULT_BOOTSTRAP_KEY: managementKey },
  })
  t.equal(JSON.parse(printed).body?.card, '4242424242424242', printed)
})

t.test('SIGTERM lets a request in flight finish, and leaves no process', async (t) => {
  const processes = descendants(second.child.pid ?? 0)
  t.ok(processes.length >= 3)
  const slow = await slowRequest(`http://127.0.0.1:${port}`, key, `{"value":"{{ ${values[0]} }}"}`)
  const stopped = second.stop()
  await until('new connections are rejected', () => rejectsConnections(port))
  slow.end()
  const response = await slow.received
  t.equal(response.status, 200)
  t.equal(JSON.parse(response.text).body.value, 'value 0')
  t.equal(await stopped, 0)
  await until('every process is gone', () => !processes.some(({ pid }) => isAlive(pid)))
})

t.test(
  'a service whose journal lost its last record reports how to continue, and then continues',
  async (t) => {
    const audit = (...args: string[]) => operate('audit', ...args)
    t.match(await audit('verify'), { code: 0, text: /^ok {6}admin: \d+ records$/m })
    const [last = ''] = readdirSync(join(dataDir, 'audit'))
      .filter((name) => /^admin\.\d+/.test(name))
      .sort()
      .reverse()
    const file = join(dataDir, 'audit', last)
    writeFileSync(file, readFileSync(file, 'utf8').replace(/"hash":"....([^\n]*\n)$/, '"hash":"0000$1'))
    const env = { SIDEVAULT_BOOTSTRAP_KEY: managementKey }
    await t.rejects(startSidevault({ dataDir, port, env }), {
      message: /admin.*not the one that was ingested.*sidevault audit acknowledge-loss --journal admin/,
    })
    t.match(await audit('verify'), { code: 1, text: /^BROKEN {2}admin: .*\n(?:.*\n)*.*acknowledge-loss/ })
    t.match(await audit('acknowledge-loss', '--journal', 'unknown'), {
      code: 1,
      text: /Existing journals: admin, gateway-0/,
    })
    t.match(await audit('acknowledge-loss', '--journal', 'gateway-0'), { code: 0, text: /nothing is lost/ })
    t.match(await audit('acknowledge-loss', '--journal', 'admin'), {
      code: 1,
      text: /Nothing was changed.*--yes/,
    })
    t.equal(readdirSync(join(dataDir, 'audit')).filter((name) => name.includes('damaged')).length, 0)
    t.match(await audit('acknowledge-loss', '--journal', 'admin', '--yes'), {
      code: 0,
      text: /^moved {3}admin\..*damaged/m,
    })

    const third = await startSidevault({ dataDir, port, env })
    t.teardown(() => third.kill())
    t.equal((await call('POST', '/tokens', { key, body: { data: 'more' } })).status, 201)
    const { journals } = JSON.parse((await audit('verify', '--json')).text)
    const journalOf = (name: string) => journals.find((journal: { name: string }) => journal.name === name)
    t.match(journalOf('admin'), { acknowledged_losses: [{ message: /are lost/, created_at: /^20/ }] })
    t.match(journalOf('gateway-0'), { acknowledged_losses: [] })
    t.match(await audit('verify'), {
      code: 0,
      text: /^loss {4}admin: acknowledged by record \d+ at .*Records from \d+ on are lost/m,
    })

    const db = new Database(join(dataDir, 'sidevault.db'))
    t.match(await audit('verify', '--rows'), { code: 0, text: /^ok {6}admin: \d+ rows$/m })
    const row = `journal = 'admin' and journal_seq`
    const head = db.prepare(`select hash from logs where ${row} = 1`).get() as { hash: string }
    t.match(await audit('verify', '--head', `admin:1:${head.hash}`), { code: 0 })
    t.match(await audit('verify', '--head', 'admin:1'), { code: 2, text: /<journal>:<seq>:<hash>/ })
    db.exec(`update logs set actor_id = 'somebody else' where ${row} = 2`)
    db.close()
    t.match(await audit('verify'), { code: 0 }, 'the files are as they were')
    t.match(await audit('verify', '--rows'), {
      code: 1,
      text: /^BROKEN {2}admin: row 2: .*row was altered/m,
    })
    const rows = await audit('verify', '--rows', '--json')
    t.equal(rows.code, 1)
    const { ok, journals: verified } = JSON.parse(rows.text)
    t.equal(ok, false)
    t.match(
      verified.find(({ name }: { name: string }) => name === 'admin'),
      { rows: 1, issue: { seq: 2, reason: /altered/ } },
    )

    await t.test('kill -9 of the supervisor leaves no process', async (t) => {
      const before = descendants(third.pid)
      t.ok(before.length >= 3)
      await third.kill()
      await until('all processes are gone', () => before.every(({ pid }) => !isAlive(pid)))
    })
  },
)
