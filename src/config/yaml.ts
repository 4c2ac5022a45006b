import { createRequire } from 'node:module'

/** The YAML library, loaded when there is YAML to read or write: most starts have none. */
export const yaml = (): typeof import('yaml') => createRequire(import.meta.url)('yaml')
