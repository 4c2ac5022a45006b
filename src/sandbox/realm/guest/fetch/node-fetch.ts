/** `node-fetch` 2: a function with the classes as members. */
const {
  fetch,
  Headers,
  Request,
  Response,
  Blob,
  File,
  FormData,
}: typeof import('./fetch.ts').builtin = require('#fetch')

export class FetchError extends Error {
  override name = 'FetchError'
  readonly type = 'system'
}

class AbortError extends Error {
  override name = 'AbortError'
  readonly type = 'aborted'
}

const nodeFetch = async (...args: Parameters<typeof fetch>) => {
  try {
    return await fetch(...args)
  } catch (error) {
    const { name, message } = error as Error
    if (name === 'AbortError') throw new AbortError('The user aborted a request.')
    if (name !== 'TypeError') throw error
    throw new FetchError(message)
  }
}

const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status)

export const builtin = Object.assign(nodeFetch, {
  default: nodeFetch,
  Headers,
  Request,
  Response,
  Blob,
  File,
  FormData,
  FetchError,
  AbortError,
  isRedirect,
})
