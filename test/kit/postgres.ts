import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Client } from 'pg'
import { killQuietly } from '../../src/common/kill.ts'
import { descendants } from '../supervisor/processes.ts'
import { type Binaries, findPostgres } from './postgres-binaries.ts'

export interface PostgresOptions {
  /** Commits reach the disk before they return, as in production. Default false: faster. */
  readonly durable?: boolean
  /** A server that only this test uses, and may kill, even where `SIDEVAULT_TEST_POSTGRES` names one. */
  readonly own?: boolean
  /** Settings as in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>
}

export interface PostgresServer {
  /** Address of the superuser's database. */
  readonly admin: string
  /** The directory of its unix socket; undefined when it is not ours. */
  readonly socketDirectory: string | undefined
  /**
   * Address of a new database, whose owner may do nothing else: an empty one, or a copy of that with the address
   * `like`, which has no connections. Its collation is not the code points' order.
   */
  database(like?: string): Promise<string>
  /** `kill -9` of the whole server. */
  kill(): Promise<void>
  /** After `kill`: the same server with what was on its disk. */
  start(): Promise<void>
  close(): Promise<void>
}

/** Runs a statement on a connection of its own, as another program would. */
export const queryPostgres = async <R extends object>(
  address: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly R[]> => {
  const client = new Client({ connectionString: address })
  await client.connect()
  try {
    return (await client.query<R>(text, [...values])).rows
  } finally {
    await client.end()
  }
}

/** How long a server may take to start or to go (ms), on a busy machine. */
const TIMEOUT = 60_000

/** The server ends with our end of its standard input: none is left behind when a test is killed. */
const GUARD = '"$@" <&- & server=$!; read -r _; kill -QUIT $server; wait $server'

const whenReady = async (address: string, output: () => string): Promise<void> => {
  for (const deadline = Date.now() + TIMEOUT; ; await setTimeout(20))
    try {
      await queryPostgres(address, 'select 1')
      return
    } catch (thrown) {
      if (Date.now() > deadline) throw new Error(`PostgreSQL does not start:\n${output()}`, { cause: thrown })
    }
}

/** Databases of one server, each of an owner that all of them share. */
const databasesOf = (admin: string): { make: PostgresServer['database']; dropAll: () => Promise<void> } => {
  const names: string[] = []
  const owner = 'sidevault_test'
  return {
    make: async (like) => {
      const name = `test_${randomBytes(8).toString('hex')}`
      names.push(name)
      await queryPostgres(
        admin,
        `do $$ begin create role ${owner} login password '${owner}'; exception when duplicate_object or unique_violation then null; end $$`,
      )
      const template = like === undefined ? '' : `template ${new URL(like).pathname.slice(1)}`
      await queryPostgres(admin, `create database ${name} owner ${owner} ${template}`)
      const address = new URL(admin)
      address.pathname = name
      address.username = owner
      address.password = owner
      return address.href
    },
    dropAll: async () => {
      for (const name of names) await queryPostgres(admin, `drop database if exists ${name} with (force)`)
    },
  }
}

const named = (admin: string): PostgresServer => {
  const databases = databasesOf(admin)
  const notOurs = async () => {
    throw new Error('SIDEVAULT_TEST_POSTGRES is not ours to kill: ask for a server with `own`')
  }
  return {
    admin,
    socketDirectory: undefined,
    database: databases.make,
    kill: notOurs,
    start: notOurs,
    close: databases.dropAll,
  }
}

const initialize = ({ directory, runner }: Binaries, data: string): void => {
  const { status, stderr, stdout } = spawnSync(
    join(directory, 'initdb'),
    [
      ...['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync', '--no-instructions'],
      // An order that is not that of the code points, so that a forgotten collation shows.
      ...['--locale=C', '--locale-provider=icu', '--icu-locale=en'],
    ],
    { ...runner, cwd: '/', env: {}, encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`initdb failed:\n${stdout}${stderr}`)
}

/** A server on a unix socket, its superuser `postgres`, everybody trusted; a fresh one unless `fill` makes its data. */
const own = async (
  binaries: Binaries,
  options: PostgresOptions,
  fill: (data: string) => unknown = (data) => initialize(binaries, data),
): Promise<PostgresServer> => {
  const directory = mkdtempSync(join(tmpdir(), 'sidevault-pg-'))
  const { uid, gid } = binaries.runner
  if (uid !== undefined && gid !== undefined) chownSync(directory, uid, gid)
  const data = join(directory, 'data')
  const port = options.settings?.port ?? '5432'
  const admin = `postgres://postgres@${encodeURIComponent(directory)}:${port}/postgres`
  const settings: Record<string, string> = {
    listen_addresses: '',
    unix_socket_directories: directory,
    max_connections: '200',
    shared_buffers: '32MB',
    fsync: options.durable ? 'on' : 'off',
    ...options.settings,
  }
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  let child: ChildProcess | undefined
  let output = ''

  const ended = async (process: ChildProcess | undefined): Promise<void> => {
    if (process && process.exitCode === null && process.signalCode === null)
      await new Promise((resolve) => process.once('exit', resolve))
  }
  const start = async (): Promise<void> => {
    for (const deadline = Date.now() + TIMEOUT; ; await setTimeout(100)) {
      const started = spawn(
        '/bin/sh',
        ['-c', GUARD, 'sh', join(binaries.directory, 'postgres'), '-D', data, ...args],
        {
          ...binaries.runner,
          cwd: '/',
          env: {},
          stdio: ['pipe', 'pipe', 'pipe'],
        },
      )
      child = started
      for (const stream of [started.stdout, started.stderr])
        stream?.on('data', (chunk) => {
          output = (output + chunk).slice(-20_000)
        })
      const ready = whenReady(admin, () => output).then(() => true)
      if (await Promise.race([ready, ended(started).then(() => false)])) return
      // A backend of a killed server that has not ended yet holds its shared memory.
      if (Date.now() > deadline) throw new Error(`PostgreSQL does not start:\n${output}`)
    }
  }
  const close = async (): Promise<void> => {
    child?.stdin?.end()
    await ended(child)
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    await fill(data)
    await start()
  } catch (thrown) {
    await close()
    throw thrown
  }
  return {
    admin,
    socketDirectory: directory,
    database: databasesOf(admin).make,
    kill: async () => {
      const server = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0])
      // A backend in a long query does not notice that its server is gone.
      const backends = descendants(server)
      process.kill(server, 'SIGKILL')
      for (const { pid } of backends) killQuietly(pid)
      child?.stdin?.end()
      await ended(child)
    },
    start,
    close,
  }
}

let found: Binaries | string | undefined
const binaries = (): Binaries | string => (found ??= findPostgres())

/** Why tests that need PostgreSQL cannot run here, as tap's `skip` wants it; false when they can. */
export const postgresMissing = ({ own = false }: Pick<PostgresOptions, 'own'> = {}): string | false => {
  if (process.env.SIDEVAULT_TEST_POSTGRES && !own) return false
  const there = binaries()
  return typeof there === 'string' ? there : false
}

/**
 * A real PostgreSQL: the one that `SIDEVAULT_TEST_POSTGRES` names (the address of one who may make databases and
 * roles), else one of this process's own in a temporary directory. It goes with `close`, or with the process.
 */
export const startPostgres = async (options: PostgresOptions = {}): Promise<PostgresServer> => {
  const running = process.env.SIDEVAULT_TEST_POSTGRES
  if (running && !options.own) return named(running)
  const there = binaries()
  if (typeof there === 'string') throw new Error(there)
  return own(there, options)
}

/** A copy of the data of a server of ours, taken while it runs, that follows it from there on. */
const follow = async ({ runner }: Binaries, primary: PostgresServer, data: string): Promise<void> => {
  const client = new Client({ connectionString: primary.admin })
  await client.connect()
  try {
    await client.query("select pg_backup_start('standby', true)")
    const { status, stderr } = spawnSync('cp', ['-a', join(primary.socketDirectory as string, 'data'), data])
    if (status !== 0) throw new Error(`the data of the primary cannot be copied: ${stderr}`)
    const { rows } = await client.query('select labelfile from pg_backup_stop(false)')
    rmSync(join(data, 'postmaster.pid'))
    for (const [name, text] of [
      ['backup_label', rows[0].labelfile],
      ['standby.signal', ''],
    ]) {
      writeFileSync(join(data, name), text)
      if (runner.uid !== undefined && runner.gid !== undefined)
        chownSync(join(data, name), runner.uid, runner.gid)
    }
  } finally {
    await client.end()
  }
}

/** A standby of a server of ours, whose `application_name` is `name`; it ends recovery with `pg_promote()`. */
export const startStandby = (
  primary: PostgresServer,
  name: string,
  options: PostgresOptions = {},
): Promise<PostgresServer> => {
  const there = binaries()
  if (typeof there === 'string') throw new Error(there)
  const primary_conninfo = `host=${primary.socketDirectory} user=postgres application_name=${name}`
  const settings = { ...options.settings, primary_conninfo }
  return own(there, { ...options, settings }, (data) => follow(there, primary, data))
}
