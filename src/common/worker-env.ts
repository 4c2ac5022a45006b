const { NODE_COMPILE_CACHE } = process.env

/** Environment of worker threads and reader processes: only the compile cache, no settings. */
export const WORKER_ENV = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }
