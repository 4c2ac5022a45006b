import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Closed with a test, or with its process. */
export interface Owner {
  teardown(close: () => unknown): unknown
}

/** An empty directory, gone when the test ends. Its path is short, as those of unix sockets must be. */
export const directoryFor = (t: Owner): string => {
  const directory = mkdtempSync(join(tmpdir(), 'sidevault-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}
