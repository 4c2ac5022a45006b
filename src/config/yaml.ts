import { createRequire } from 'node:module'

/** The YAML library, loaded on demand: most starts need none. */
export const yaml = (): typeof import('yaml') => createRequire(import.meta.url)('yaml')
