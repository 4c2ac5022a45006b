import { sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The node_modules folder of isolated-vm: the only folder that a child may read. */
export const modulesFolder = (): string => {
  const path = fileURLToPath(import.meta.resolve('isolated-vm'))
  return path.slice(0, path.lastIndexOf(`${sep}node_modules${sep}`) + `${sep}node_modules`.length)
}
