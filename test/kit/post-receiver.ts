import { EventEmitter, once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { createServer } from 'node:https'
import type { Test } from 'tap'
import type { Store } from '../../src/store/store.ts'
import { createAuthority } from './authority.ts'
import { startDns } from './dns.ts'
import { listenFor } from './listen.ts'

interface Post {
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** Of the response; 0: none. */
  readonly status: number
}

/** HTTPS receivers under the name `receiver.test`, and the settings with which a service may reach them. */
export const startReceivers = async (t: Test) => {
  const authority = await createAuthority()
  const certificate = await authority.issue(['receiver.test'])
  const dns = await startDns()
  t.teardown(() => dns.close())
  dns.set('receiver.test', { a: ['127.0.0.1'] })

  /** A receiver that responds with these statuses in turn, then with 204; 0: never. */
  const startReceiver = async (t: Test, statuses: readonly number[]) => {
    const posts: Post[] = []
    const arrived = new EventEmitter()
    const left = [...statuses]
    const server = createServer(certificate, async (request, response) => {
      let text = ''
      for await (const chunk of request) text += chunk
      const status = left.shift() ?? 204
      posts.push({ headers: request.headers, text, status })
      const headers = status === 302 ? { location: 'https://receiver.test/elsewhere' } : {}
      if (status !== 0) response.writeHead(status, headers).end()
      arrived.emit('post')
    })
    const port = await listenFor(t, server)
    return {
      url: `https://receiver.test:${port}/hook`,
      posts,
      /** Of the next responses. */
      statuses: left,
      /** Resolves when `count` posts have arrived. */
      arrived: async (count: number) => {
        while (posts.length < count) await once(arrived, 'post')
      },
    }
  }

  const outbound = {
    allow: ['127.0.0.0/8'],
    ports: '*',
    resolvers: [{ address: '127.0.0.1', port: dns.port }],
    trust: authority.pem,
  } as const
  return { dns, startReceiver, outbound }
}

/** Returns a function that resolves when `holds` does, which it asks again after each commit of records. */
export const untilCommitted = ({ records }: Store) => {
  const { commit } = records
  const done = new EventEmitter()
  let commits = 0
  Object.assign(records, {
    commit: async (...given: Parameters<typeof commit>) => {
      const result = await commit(...given)
      commits++
      done.emit('commit')
      return result
    },
  })
  return async (holds: () => Promise<boolean>): Promise<void> => {
    for (let seen = commits; !(await holds()); seen = commits)
      if (seen === commits) await once(done, 'commit')
  }
}
