const { NODE_COMPILE_CACHE } = process.env

/** Environment of worker threads and reader processes: no settings, only the compile cache of this process. */
export const WORKER_ENV = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }
