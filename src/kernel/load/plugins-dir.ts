import { fileURLToPath } from 'node:url'

/** The built-in plugins. */
export const PLUGINS_DIR = fileURLToPath(new URL('../../../plugins', import.meta.url))
