/** The test files of this project, and the processes that they run in. */
import { readdirSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import type { TestFile } from './run-files.ts'

type Variables = Readonly<Record<string, string>>

interface Kind {
  /** Each file has its own, files of such kinds share one, or a few processes take one file after the other. */
  readonly process: 'own' | 'one' | 'few'
  /** Variables of each run of a file. */
  readonly runs?: readonly Variables[]
  /** In ms. */
  readonly timeout?: number
}

const TIMEOUT = 600_000

const GRPC: Variables = { SPEC_TRANSPORT: 'grpc', SPEC_STORE: 'postgres' }

/**
 * Kinds of test files, by the end of their names (CONTRIBUTING.md, "Tests"), in the order in which they run. What takes
 * longest comes first, so that nothing runs alone at the end.
 */
const KINDS: Readonly<Record<string, Kind>> = {
  long: { process: 'own', timeout: 10 * TIMEOUT },
  own: { process: 'own' },
  browser: { process: 'one' },
  shared: { process: 'one' },
  program: { process: 'few' },
  // Over HTTP on SQLite, and over gRPC on PostgreSQL (test/spec/transports.ts, test/kit/test-store.ts).
  stores: { process: 'few', runs: [{}, GRPC] },
  grpc: { process: 'few', runs: [GRPC] },
  integration: { process: 'few' },
  unit: { process: 'few' },
}

/** `<name>.<kind>.test.ts`, or `<name>.test.ts` for a unit test. */
const kindOf = (file: string): string => /\.([^./]+)\.test\.ts$/.exec(file)?.[1] ?? 'unit'

const nameOf = (file: string, variables: Variables) => {
  const values = Object.values(variables)
  return values.length === 0 ? file : `${file} (${values.join(', ')})`
}

/**
 * Test files, with each of their runs.
 * @param only parts of paths; none for all files
 */
export const testFiles = (
  root: string,
  only: readonly string[],
  ofKind: (kind: string) => boolean,
): readonly TestFile[] =>
  readdirSync(join(root, 'test'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.test.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((file) => only.length === 0 || only.some((part) => file.includes(part)))
    .sort()
    .flatMap((file) => {
      const kind = KINDS[kindOf(file)]
      if (!kind) throw new Error(`${file}: no such kind of tests (CONTRIBUTING.md, "Tests")`)
      const { runs = [{}], timeout = TIMEOUT } = kind
      return ofKind(kindOf(file)) ? runs.map((env) => ({ name: nameOf(file, env), file, timeout, env })) : []
    })

export const needsPostgres = ({ env }: TestFile): boolean => env.SPEC_STORE === 'postgres'

/** The same file on SQLite. */
export const withoutPostgres = (file: TestFile): TestFile => {
  const { SPEC_STORE: _, ...env } = file.env
  return { ...file, env, name: nameOf(file.file, env) }
}

/** What one process runs in one go, in order. */
interface Batch {
  readonly files: readonly TestFile[]
  /** In a new process, which ends after it. */
  readonly alone: boolean
}

export const batchesOf = (files: readonly TestFile[]): Batch[] => {
  const inOrder = Object.keys(KINDS).flatMap((kind) => files.filter(({ file }) => kindOf(file) === kind))
  const those = (process: Kind['process']) =>
    inOrder.filter(({ file }) => KINDS[kindOf(file)]?.process === process)
  const batches = [
    { files: those('one'), alone: true },
    ...those('own').map((file) => ({ files: [file], alone: true })),
    ...those('few').map((file) => ({ files: [file], alone: false })),
  ]
  return batches.filter(({ files: { length } }) => length > 0)
}
