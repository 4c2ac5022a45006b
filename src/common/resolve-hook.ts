/** For `--import` of processes and threads of ours: what makes loading their modules cheaper. */
export const RESOLVE_HOOK = new URL('../../bin/resolve-hook.js', import.meta.url).href

const { NODE_COMPILE_CACHE } = process.env

/** Of a thread of ours: it sees no setting, and loads its modules as cheaply as its process does. */
export const THREAD_OPTIONS = {
  env: NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE },
  execArgv: ['--import', RESOLVE_HOOK],
}
