import { fileURLToPath } from 'node:url'

/** The plugins that come with the service. */
export const PLUGINS_DIR = fileURLToPath(new URL('../../plugins', import.meta.url))
