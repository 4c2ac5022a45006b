import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { directoryFor } from '../kit/directory.ts'
import { journalsHold } from '../kit/journals.ts'
import { postgresMissing, startPostgres } from '../kit/postgres.ts'
import { ALL_TOKEN_PERMISSIONS, startSidevault } from '../kit/sidevault.ts'
import { until } from '../supervisor/processes.ts'
import { smallDisk } from './disk.ts'
import { startLine } from './line.ts'

const TIMEOUT = 120_000

const service = async (t: Test, options: Parameters<typeof startSidevault>[0]) => {
  const sidevault = await startSidevault(options)
  t.teardown(() => sidevault.stop())
  const key = await sidevault.application({ permissions: ALL_TOKEN_PERMISSIONS })
  const create = (data: string) => sidevault.call('POST', '/tokens', { key, body: { data } })
  const disclose = (id: string) =>
    sidevault.call('POST', '/proxy', {
      key,
      headers: { 'svc-proxy-url': 'https://demo.sidevault.test' },
      body: { v: `{{ ${id} }}` },
    })
  return { sidevault, key, create, disclose }
}

const disk = smallDisk(48)

t.test(
  'calls fail with a reason while the disk is full, lose and disclose nothing, and recover with space',
  { skip: typeof disk === 'string' && disk },
  async (t) => {
    if (typeof disk === 'string') return
    t.teardown(disk.unmount)
    const dataDir = join(disk.path, 'data')
    const { sidevault, key, create, disclose } = await service(t, { dataDir })
    const retained: string[] = [(await create('the first one')).json.id]
    t.equal((await disclose(retained[0] as string)).status, 200)

    const filler = join(disk.path, 'filler')
    spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4096'])
    let rejected = 0
    for (let turn = 0; turn < 400 && rejected < 10; turn++) {
      const response = await create(`one that may not fit ${'x'.repeat(20_000)}`)
      if (response.status === 201) retained.push(response.json.id)
      else {
        rejected++
        t.match(response, { status: 503, json: { detail: /room|disk|written|store/i } })
      }
    }
    t.equal(rejected, 10, 'writes are rejected')
    const before = await disclose(retained[0] as string)
    t.ok(
      before.status === 503 || before.status === 200,
      `a disclosure is denied, or still had room for its record: ${before.status} ${before.text}`,
    )
    t.notMatch(before.status === 503 ? before.text : '', /the first one/)
    t.equal((await sidevault.call('GET', '/healthz')).status, 200, 'it is alive')

    rmSync(filler)
    await until('writes work again', async () => (await create('after')).status === 201, TIMEOUT)
    await until(
      'disclosures work again',
      async () => (await disclose(retained[0] as string)).status === 200,
      TIMEOUT,
    )
    for (const id of retained) t.equal((await sidevault.call('GET', `/tokens/${id}`, { key })).status, 200)
    journalsHold(t, dataDir)

    await t.test('a start on a read-only disk is rejected with a fix, and changes nothing', async (t) => {
      t.equal(await sidevault.stop(), 0)
      const files = () =>
        readdirSync(dataDir, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map(({ parentPath, name }) => [name, readFileSync(join(parentPath, name)).toString('base64')])
      const before = files()
      disk.remount('ro')
      await t.rejects(
        startSidevault({ dataDir }),
        /ended with [1-9][\s\S]*cannot be created or written \(EROFS\)\. Set SIDEVAULT_DATA_DIR/,
      )
      t.strictSame(files(), before)

      disk.remount('rw')
      const again = await startSidevault({ dataDir })
      t.teardown(() => again.stop())
      for (const id of retained) t.equal((await again.call('GET', `/tokens/${id}`, { key })).status, 200)
    })
  },
)

t.test(
  'calls fail within their deadline while the store hangs, and recover with it',
  { skip: postgresMissing({ own: true }) },
  async (t) => {
    const postgres = await startPostgres({ own: true })
    t.teardown(() => postgres.close())
    const address = new URL(await postgres.database())
    const line = await startLine(postgres)
    t.teardown(line.close)
    address.host = `127.0.0.1:${line.port}`
    const { sidevault, key, create, disclose } = await service(t, {
      env: {
        SIDEVAULT_STORE: address.href,
        SIDEVAULT_STORE_TIMEOUT_SECONDS: '3',
        SIDEVAULT_STORE_CONNECT_TIMEOUT_SECONDS: '3',
      },
    })
    const { id } = (await create('kept')).json

    line.silence(true)
    const responses = await Promise.all([
      create('rejected'),
      sidevault.call('GET', `/tokens/${id}`, { key }),
      disclose(id),
    ])
    for (const response of responses) {
      t.ok([502, 503, 504].includes(response.status), `${response.status} ${response.text}`)
      t.notMatch(response.text, /kept/)
    }

    line.silence(false)
    await until('writes work again', async () => (await create('again')).status === 201, TIMEOUT)
    await until('disclosures work again', async () => (await disclose(id)).status === 200, TIMEOUT)
  },
)

t.test('calls above the limit of file handles are rejected without other effects', async (t) => {
  const { sidevault, key, create } = await service(t, { handles: 160 })
  const { id } = (await create('kept')).json
  const sockets: Socket[] = []
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (let index = 0; index < 300; index++) {
    const socket = connect(sidevault.port, '127.0.0.1')
    socket.on('error', () => {})
    sockets.push(socket)
    socket.write(
      `GET /tokens/${id} HTTP/1.1\r\nhost: x\r\nsvc-api-key: ${key}\r\nconnection: keep-alive\r\n\r\n`,
    )
  }
  const responded = new Promise<number>((resolve) => {
    let responses = 0
    for (const socket of sockets)
      socket.once('data', (chunk) => {
        t.ok(/^HTTP\/1.1 (200|429|50[234])/.test(String(chunk)), String(chunk).slice(0, 60))
        if (++responses === 50) resolve(responses)
      })
  })
  t.ok((await responded) >= 50, 'some are served')
  for (const socket of sockets.splice(0)) socket.destroy()
  await until(
    'calls work again',
    async () => (await create('after').catch(() => undefined))?.status === 201,
    TIMEOUT,
  )
  t.equal((await sidevault.call('GET', `/tokens/${id}`, { key })).status, 200)
  journalsHold(t, sidevault.dataDir)
  const limits = readFileSync(`/proc/${sidevault.pid}/limits`, 'utf8')
  t.match(limits, /Max open files\s+160\s+160/)
})

t.test('an unwritable data directory is rejected at the start, with a fix', async (t) => {
  const dataDir = directoryFor(t)
  const path = join(dataDir, 'a-file')
  writeFileSync(path, '')
  await t.rejects(startSidevault({ dataDir: join(path, 'data') }), /SIDEVAULT_DATA_DIR|director/i)
})
