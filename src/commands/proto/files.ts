import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Frozen } from '../../admin/proto/field-number-lock.ts'
import { FROZEN_FILE, printProtos } from '../../admin/proto/generated.ts'
import type { Operation } from '../../sdk/index.ts'

const readFrozen = async (file: string): Promise<Frozen> => {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Frozen
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
}

/** Removes .proto files that are no longer generated. */
const removeStale = async (out: string, names: ReadonlySet<string>): Promise<void> => {
  const folder = dirname(FROZEN_FILE)
  for (const entry of await readdir(join(out, folder)))
    if (entry.endsWith('.proto') && !names.has(`${folder}/${entry}`)) await rm(join(out, folder, entry))
}

/** Writes the .proto files of operations below `out`. If there are issues, it writes nothing and resolves with them. */
export const writeOperations = async (
  operations: readonly Operation[],
  out: string,
): Promise<{ readonly written: readonly string[]; readonly issues: readonly string[] }> => {
  const { files, issues } = printProtos(operations, await readFrozen(join(out, FROZEN_FILE)))
  if (issues.length > 0) return { written: [], issues }
  for (const [name, text] of files) {
    await mkdir(dirname(join(out, name)), { recursive: true })
    await writeFile(join(out, name), text)
  }
  await removeStale(out, new Set(files.keys()))
  return { written: [...files.keys()], issues }
}
